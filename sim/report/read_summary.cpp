#include "config/diagnostic.hpp"
#include "config/fields.hpp"
#include "report/summary_json.hpp"
#include "units/control_characters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

constexpr double largest_figure = 1e15;  // no time or count of a real run comes near it

/// One object of the file, with its place for messages.
class Fields {
public:
  Fields(const std::string& file, const Json& json, std::string path = {})
      : file_(file), json_(json), path_(std::move(path)) {
    if (!json_.is_object()) refuse(path_, "an object");
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    const Json& value = at(name);
    if (!value.is_string()) refuse(name, "text");
    const std::string text = value.get<std::string>();
    if (find_control(text) || text.find_first_of("\n\t") != std::string::npos)
      refuse(name, "text without control characters");
    return text;
  }
  [[nodiscard]] std::int64_t count(const std::string& name) const {
    const Json& value = at(name);
    if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > largest_figure)
      refuse(name, "a whole number of at least 0");
    return value.get<std::int64_t>();
  }
  [[nodiscard]] bool has(const std::string& name) const { return json_.contains(name); }
  [[nodiscard]] bool is_null(const std::string& name) const { return at(name).is_null(); }
  [[nodiscard]] double number(const std::string& name) const {
    const Json& value = at(name);
    if (!value.is_number()) refuse(name, "a number");
    return value.get<double>();
  }
  [[nodiscard]] bool flag(const std::string& name) const {
    const Json& value = at(name);
    if (!value.is_boolean()) refuse(name, "true or false");
    return value.get<bool>();
  }
  [[nodiscard]] double positive(const std::string& name) const {
    const double value = number(name);
    if (value <= 0) refuse(name, "a number above 0");
    if (value < 1 / largest_figure || value > largest_figure)
      refuse(name, fmt::format("a number from {:g} to {:g}", 1 / largest_figure, largest_figure));
    return value;
  }
  [[nodiscard]] Fields object(const std::string& name) const { return {file_, at(name), name}; }
  [[nodiscard]] std::vector<Fields> objects(const std::string& name) const {
    const Json& value = at(name);
    if (!value.is_array()) refuse(name, "a list");
    std::vector<Fields> all;
    for (std::size_t i = 0; i < value.size(); ++i)
      all.emplace_back(file_, value[i], fmt::format("{}[{}]", name, i));
    return all;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& item : json_.items()) all.push_back(item.key());
    return all;
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const {
    fail(fmt::format("'{}' is not {}", name, expected));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError({Diagnostic{.file = file_,
                                 .key_path = path_,
                                 .message = message,
                                 .hint = "trainyard run EXPERIMENT --out DIR writes such a file",
                                 .source_line = {}}});
  }

private:
  [[nodiscard]] const Json& at(const std::string& name) const {
    const auto found = json_.find(name);
    if (found == json_.end())
      fail(fmt::format(
          "field '{}' is missing: this is not the summary of a run, or an older trainyard wrote it", name));
    return *found;
  }

  const std::string& file_;
  const Json& json_;
  std::string path_;
};

Json parsed(const std::string& file, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {  // a parse_error, or a number too large for any type
    const auto* const place = dynamic_cast<const Json::parse_error*>(&error);
    const std::string_view before = text.substr(0, place == nullptr ? 0 : std::min(place->byte, text.size()));
    throw InputError({Diagnostic{.file = file,
                                 .line = 1 + static_cast<int>(std::ranges::count(before, '\n')),
                                 .column = 1,
                                 .key_path = {},
                                 .message = "this is not JSON, or the file is incomplete",
                                 .hint = "trainyard run EXPERIMENT --out DIR writes such a file",
                                 .source_line = {}}});
  }
}

StepPart part_named(const Fields& parts, const std::string& name) {
  if (const auto known = config::value_named<StepPart>(name)) return *known;
  parts.fail(fmt::format("unknown part of a step {}", in_quotes(name)));
}

void read_parts(const Fields& fields, RunSummary& run) {
  const Fields parts = fields.object("step_parts_s");
  for (const std::string& name : parts.names())
    run.parts.push_back({part_named(parts, name), Seconds{parts.number(name)}});
  for (const Fields& one : fields.objects("exposed_collectives")) {
    run.collectives.push_back({one.text("collective"), one.text("operation"), one.text("purpose"),
                               Seconds{one.number("exposed_s")}});
  }
}

/// Figures of other kinds of run may be missing.
std::optional<FigureValue> read_figure(const Fields& fields, const Figure& figure) {
  const std::string name(figure.field);
  const bool is_text = figure.unit == FigureUnit::text || figure.unit == FigureUnit::batch_range;
  if (figure.shown.is_always_there)
    return is_text ? FigureValue(fields.text(name)) : FigureValue(static_cast<double>(fields.count(name)));
  const bool may_be_missing = !figure.shown.in_comparison || figure.shown.is_of_jobs ||
                              figure.shown.is_of_targets || figure.shown.is_of_learning ||
                              figure.shown.is_of_accuracy || figure.shown.is_of_launches;
  if (may_be_missing && !fields.has(name)) return std::nullopt;
  if (fields.is_null(name)) return std::nullopt;
  return is_text ? FigureValue(fields.text(name)) : FigureValue(fields.number(name));
}

constexpr const char* comparable_by = "comparable_by";

/// Summaries that an older trainyard wrote do not have it.
Known<PredictedJob> read_job(const Fields& fields) {
  const auto of_older_version = [] {
    return unknown("an older trainyard wrote the saved run: run it again");
  };
  if (!fields.has(comparable_by)) return of_older_version();
  if (fields.is_null(comparable_by)) {
    const Fields reasons = fields.object("unmodelled");
    return unknown(reasons.has(comparable_by) ? reasons.text(comparable_by)
                                              : std::string("the saved run does not say why"));
  }
  const Fields its = fields.object(comparable_by);
  if (!its.has("kind")) return of_older_version();
  constexpr std::int64_t most = 1'000'000'000;
  const auto number = [&](const char* name) {
    const std::int64_t count = its.count(name);
    if (count < 1 || count > most) its.refuse(name, "a whole number of at least 1");
    return static_cast<int>(count);
  };
  PredictedJob job{.of = {.use = {},
                          .platform = its.text("platform"),
                          .gpus = number("gpus"),
                          .nodes = number("nodes"),
                          .batch_per_gpu = number("batch_per_gpu")},
                   .fit = its.text("fit"),
                   .software_fit = its.text("software_fit")};
  for (const SoftwareColumn& column : software_columns)
    job.of.use.*column.text = its.text(std::string(column.name));
  const std::string kind = its.text("kind");
  const auto& kinds = config::Names<ModelKind>::table;
  const auto named = std::ranges::find(kinds, kind, [](const auto& name) { return name.text; });
  if (named == kinds.end()) its.refuse("kind", "a kind of model");
  job.of.kind = named->value;
  job.of.has_recorded_kernels = its.flag("recorded_kernels");
  job.of.mean_op = Seconds{its.number("mean_op_s")};
  return job;
}

/// Version 2 has the communication of runs of many updates per step of a rank, later versions per
/// update, as among the parts.
void as_part_of_an_update(RunSummary& run) {
  const auto figure_at = [&](std::string_view field) {
    return std::ranges::find(run.table, field, &Figure::field) - run.table.begin();
  };
  const auto part = std::ranges::find(run.parts, StepPart::communication, &PartTime::part);
  if (part != run.parts.end() && run.figures.at(static_cast<std::size_t>(figure_at("updates_per_s")))) {
    for (const auto* const field : {"communication_time_s", "exposed_communication_s"})
      run.figures.at(static_cast<std::size_t>(figure_at(field))) = part->time.si();
  }
}

/// Summaries without assumed inputs do not have the field.
void read_assumed(const Fields& fields, RunSummary& run) {
  constexpr const char* assumed_inputs = "assumed_inputs";
  if (!fields.has(assumed_inputs)) return;
  const double throughput = fields.positive("throughput_samples_per_s");
  for (const Fields& one : fields.objects(assumed_inputs)) {
    if (std::ranges::find(run.assumed, one.text("key"), &AssumedEffect::key) != run.assumed.end())
      one.refuse("key", "given once");
    run.assumed.push_back({.key = one.text("key"),
                           .value = one.text("value"),
                           .at_low = one.positive("throughput_at_low_samples_per_s") / throughput,
                           .at_high = one.positive("throughput_at_high_samples_per_s") / throughput});
  }
}

/// A scalar as YAML writes it: a path is in double quotes.
std::string without_quotes(const std::string& text) {
  if (!text.starts_with('"')) return text;
  const auto quoted = nlohmann::json::parse(text, nullptr, false);
  return quoted.is_string() ? quoted.get<std::string>() : text;
}

}  // namespace

RunSummary read_summary(const std::string& file, std::string_view text, std::span<const Figure> table) {
  const Json json = parsed(file, text);
  const Fields fields(file, json);
  constexpr int oldest_version = 2;
  const std::int64_t version = fields.count("schema_version");
  if (version < oldest_version || version > summary_schema_version)
    fields.fail(fmt::format("schema_version is {}, this trainyard reads {} to {}", version, oldest_version,
                            summary_schema_version));
  RunSummary run;
  run.table = table;
  for (const Figure& figure : table) run.figures.push_back(read_figure(fields, figure));
  std::ignore = fields.positive("step_time_s");
  std::ignore = fields.positive("throughput_samples_per_s");
  read_parts(fields, run);
  if (version == 2) as_part_of_an_update(run);
  const Fields keys = fields.object("resolved_experiment");
  for (const std::string& path : keys.names()) run.experiment_keys[path] = without_quotes(keys.text(path));
  read_assumed(fields, run);
  run.predicted_job = read_job(fields);
  return run;
}

}  // namespace trainyard
