#include "accuracy/new_circumstances.hpp"

#include "accuracy/published_errors.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <system_error>

namespace trainyard {
namespace {

constexpr double largest_bound = 1e6;

/// Bounds of jobs without a new property.
constexpr std::string_view known_name = "nothing";

struct BoundColumn {
  std::string_view name;
  double least = 0;
};
constexpr std::array bound_columns{BoundColumn{"slower", -1}, BoundColumn{"slower_op_us"},
                                   BoundColumn{"faster", -1}, BoundColumn{"faster_op_us"},
                                   BoundColumn{"runs"}};

/// The error of known jobs and of new properties, added in squares: their origins are independent.
double in_squares(double known, const std::vector<NewProperty>& properties,
                  const std::array<PropertyBounds, new_property_count>& by_property,
                  double PropertyBounds::*bound) {
  const auto square = [](double value) { return value * std::abs(value); };
  double sum = square(known);
  for (const NewProperty each : properties)
    sum += std::max(0.0, square(by_property[static_cast<std::size_t>(each)].*bound) - square(known));
  return sum < 0 ? -std::sqrt(-sum) : std::sqrt(sum);
}

class BoundsReader {
public:
  BoundsReader(const std::string& name, std::string_view text) : text_(text), problems_(name, text) {}

  NewCircumstances read() {
    const CsvFile file = parse_csv(text_, problems_);
    problems_.finish();
    if (file.header.cells.size() != bound_columns.size() + 1 || file.header.cells.front().text != "new" ||
        !std::ranges::equal(bound_columns, std::span(file.header.cells).subspan(1), {}, &BoundColumn::name,
                            &CsvCell::text))
      problems_.error(file.header.line, "other columns than errors in new circumstances have", hint);
    problems_.finish();
    for (const CsvRow& row : file.rows) read_row(row);
    if (std::ranges::any_of(is_read_, [](bool is_read) { return !is_read; }))
      problems_.error(0, "not a line for each property", hint);
    problems_.finish();
    return read_;
  }

private:
  static constexpr const char* hint = "write the file with tests/validation/left_out.py";

  void read_row(const CsvRow& row) {
    std::array<double, bound_columns.size()> numbers{};
    for (std::size_t i = 0; i < bound_columns.size(); ++i) {
      const std::string& cell = row.cells[i + 1].text;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), numbers[i]);
      if (error != std::errc() || end != cell.data() + cell.size() || std::isnan(numbers[i]) ||
          numbers[i] < bound_columns[i].least || numbers[i] > largest_bound)
        problems_.error(row.line, row.cells[i + 1], bound_columns[i].name,
                        fmt::format("no usable {}", bound_columns[i].name), hint);
    }
    const PropertyBounds bounds{.slower = numbers[0],
                                .faster = numbers[2],
                                .slower_op = Seconds{1e-6 * numbers[1]},
                                .faster_op = Seconds{1e-6 * numbers[3]}};
    if (bounds.slower + bounds.faster < 0)
      problems_.error(row.line, row.cells[1], "slower", "the lower bound is above the upper one", hint);
    const std::string& name = row.cells.front().text;
    const auto index = index_of(name);
    if (!index) {
      problems_.error(row.line, row.cells.front(), "new", fmt::format("unknown property '{}'", name), hint);
      return;
    }
    if (is_read_[*index])
      problems_.error(row.line, row.cells.front(), "new", fmt::format("a second line of '{}'", name), hint);
    is_read_[*index] = true;
    (*index < new_property_count ? read_.by_property[*index] : read_.known) = bounds;
  }

  /// The place of the property in `is_read_`, where the last stands for known jobs.
  static std::optional<std::size_t> index_of(std::string_view name) {
    if (name == known_name) return new_property_count;
    for (const auto& property : config::Names<NewProperty>::table) {
      if (name == property.text) return static_cast<std::size_t>(property.value);
    }
    return std::nullopt;
  }

  std::string_view text_;
  CsvProblems problems_;
  NewCircumstances read_;
  std::array<bool, new_property_count + 1> is_read_{};
};

}  // namespace

LogBounds NewCircumstances::bounds(const std::vector<NewProperty>& properties, Seconds op) const {
  const auto of_op = [&](Seconds lacking) { return op > Seconds{} ? std::log1p(lacking / op) : 0; };
  if (is_of_kernels_alone(properties)) {  // in place of the errors of known jobs
    const PropertyBounds& kernels = by_property[static_cast<std::size_t>(NewProperty::kernels)];
    return {.low = -kernels.slower - of_op(kernels.slower_op),
            .high = kernels.faster + of_op(kernels.faster_op)};
  }
  Seconds slower_op = known.slower_op;
  Seconds faster_op = known.faster_op;
  for (const NewProperty each : properties) {
    const PropertyBounds& property = by_property[static_cast<std::size_t>(each)];
    slower_op = std::max(slower_op, property.slower_op);
    faster_op = std::max(faster_op, property.faster_op);
  }
  return {
      .low = -in_squares(known.slower, properties, by_property, &PropertyBounds::slower) - of_op(slower_op),
      .high = in_squares(known.faster, properties, by_property, &PropertyBounds::faster) + of_op(faster_op)};
}

NewCircumstances read_new_circumstances(const std::string& name, std::string_view text) {
  return BoundsReader(name, text).read();
}

std::vector<NewProperty> new_properties(std::span<const PublishedError> runs, const Circumstances& of,
                                        std::optional<int> without_series) {
  bool has_kind = false;
  bool has_model = of.layout.has_value();
  bool has_generation = false;
  bool has_gpu = false;
  bool has_framework = false;
  bool has_stack = false;
  const std::string_view model = without_length(of.use.model);
  for (const PublishedError& run : runs) {
    if (run.series == without_series) continue;
    has_kind = has_kind || run.of.kind == of.kind;
    has_model = has_model || without_length(run.of.use.model) == model;
    if (run.of.use.generation != of.use.generation) continue;
    has_generation = true;
    has_gpu = has_gpu || run.of.use.gpu == of.use.gpu;
    if (run.of.use.framework != of.use.framework) continue;
    has_framework = true;
    has_stack = has_stack || run.of.use.stack == of.use.stack;
  }
  std::vector<NewProperty> properties;
  if (!has_kind)
    properties.push_back(NewProperty::kind);
  else if (!has_model)
    properties.push_back(NewProperty::model);
  if (!has_framework)
    properties.push_back(NewProperty::framework);
  else if (!has_stack)
    properties.push_back(NewProperty::stack);
  if (!has_generation)
    properties.push_back(NewProperty::generation);
  else if (!has_gpu)
    properties.push_back(NewProperty::gpu);
  return properties;
}

std::vector<NewProperty> bounding_properties(std::string_view fit, const Circumstances& of,
                                             const std::vector<NewProperty>& properties) {
  const bool is_unfitted = of.has_recorded_kernels || fit == no_fit;
  return is_unfitted && !properties.empty() ? std::vector{NewProperty::kernels} : properties;
}

std::string property_in_words(NewProperty property, const Circumstances& of) {
  // a GPU without CUDA has no generation
  const std::string& generation = of.use.generation.empty() ? of.use.gpu : of.use.generation;
  switch (property) {
    case NewProperty::stack:
      return fmt::format("{} on {}", of.use.stack, generation);
    case NewProperty::framework:
      return fmt::format("{} on {}", of.use.framework, generation);
    case NewProperty::generation:
      return "any software on " + generation;
    case NewProperty::gpu:
      return of.use.gpu;
    case NewProperty::model:
      return std::string(without_length(of.use.model));
    case NewProperty::kind:
      return fmt::format("{} {}", of.kind == ModelKind::encoder || of.kind == ModelKind::other ? "an" : "a",
                         config::Names<ModelKind>::table[static_cast<std::size_t>(of.kind)].doc);
    case NewProperty::kernels:
      break;  // stands for other properties, which have words
  }
  return {};
}

}  // namespace trainyard
