#include "accuracy/published_errors.hpp"

#include "workload/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr double most = 1e15;

bool read_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= most;
}

constexpr double largest_count = 1e9;

/// A column: how it is written, and how it is read; false if the text is wrong.
struct Column {
  std::string_view name;
  std::function<std::string(const PublishedError&)> text;
  std::function<bool(std::string_view, PublishedError&)> read;
};

template <class Member>
Column text_column(std::string_view name, Member member) {
  return {name, [member](const PublishedError& run) { return std::string(member(run)); },
          [member](std::string_view cell, PublishedError& run) {
            member(run) = cell;
            return true;
          }};
}

template <class Member>
Column number_column(std::string_view name, Member member) {
  return {name, [member](const PublishedError& run) { return fmt::format("{:.6g}", 1.0 * member(run)); },
          [member](std::string_view cell, PublishedError& run) {
            using Value = std::decay_t<decltype(member(run))>;
            double value = 0;
            if (!read_number(cell, value)) return false;
            if (std::is_same_v<Value, bool> && value != 0 && value != 1) return false;
            if (std::is_integral_v<Value> && (value > largest_count || value != std::trunc(value)))
              return false;
            member(run) = static_cast<Value>(value);
            return true;
          }};
}

/// Written in microseconds.
template <class Member>
Column op_column(std::string_view name, Member member) {
  constexpr double micro = 1e-6;
  return {name,
          [member](const PublishedError& run) { return fmt::format("{:.6g}", member(run).si() / micro); },
          [member](std::string_view cell, PublishedError& run) {
            double value = 0;
            if (!read_number(cell, value)) return false;
            member(run) = Seconds{micro * value};
            return true;
          }};
}

template <class Member>
Column name_column(std::string_view name, Member member) {
  return {name, [member](const PublishedError& run) { return std::string(config::name_of(member(run))); },
          [member](std::string_view cell, PublishedError& run) {
            using Value = std::decay_t<decltype(member(run))>;
            for (const auto& each : config::Names<Value>::table) {
              if (each.text != cell) continue;
              member(run) = each.value;
              return true;
            }
            return false;
          }};
}

/// Columns of tables about runs whose ranks share a model.
std::vector<Column> layout_columns_of_errors() {
  std::vector<Column> made;
  const auto number = [&](std::string_view name, auto member) {
    made.push_back(number_column(
        name, [member](auto& run) -> auto& { return (*run.of.layout).*member; }));
  };
  const auto text = [&](std::string_view name, auto member) {
    made.push_back(text_column(
        name, [member](auto& run) -> auto& { return (*run.of.layout).*member; }));
  };
  number("tensor", &LayoutUse::tensor);
  number("context", &LayoutUse::context);
  number("pipeline", &LayoutUse::pipeline);
  number("virtual_stages", &LayoutUse::virtual_stages);
  number("expert", &LayoutUse::expert);
  number("micro_batches", &LayoutUse::micro_batches);
  number("tokens", &LayoutUse::tokens);
  number("parameters", &LayoutUse::parameters);
  number("experts", &LayoutUse::has_experts);
  text("schedule", &LayoutUse::schedule);
  text("recompute", &LayoutUse::recompute);
  text("sharded", &LayoutUse::sharded);
  made.push_back(number_column(
      "fp8", [](auto& run) -> auto& { return run.of.has_fp8; }));
  return made;
}

std::vector<Column> columns_of(bool of_layouts) {
  std::vector<Column> made{text_column(
                               "platform", [](auto& run) -> auto& { return run.of.platform; }),
                           number_column(
                               "nodes", [](auto& run) -> auto& { return run.of.nodes; }),
                           number_column(
                               "gpus", [](auto& run) -> auto& { return run.of.gpus; }),
                           number_column(
                               "batch_per_gpu", [](auto& run) -> auto& { return run.of.batch_per_gpu; })};
  for (const SoftwareColumn& column : software_columns) {
    const auto member = column.text;
    made.push_back(text_column(
        column.name, [member](auto& run) -> auto& { return run.of.use.*member; }));
  }
  made.push_back(name_column(
      "kind", [](auto& run) -> auto& { return run.of.kind; }));
  made.push_back(number_column(
      "recorded", [](auto& run) -> auto& { return run.of.has_recorded_kernels; }));
  made.push_back(op_column(
      "op_us", [](auto& run) -> auto& { return run.of.mean_op; }));
  if (!of_layouts)
    made.push_back(number_column(
        "divides_layers", [](auto& run) -> auto& { return run.of.divides_layers; }));
  made.push_back(number_column(
      of_layouts ? "family" : "series", [](auto& run) -> auto& { return run.series; }));
  made.push_back(number_column(
      "scored", [](auto& run) -> auto& { return run.is_scored; }));
  made.push_back(number_column(
      "measured", [](auto& run) -> auto& { return run.measured; }));
  made.push_back(number_column(
      "predicted", [](auto& run) -> auto& { return run.predicted; }));
  made.push_back(text_column(
      "row", [](auto& run) -> auto& { return run.place; }));
  if (of_layouts) std::ranges::move(layout_columns_of_errors(), std::back_inserter(made));
  return made;
}

std::string header_line(const std::vector<Column>& columns) {
  std::string text;
  for (const Column& column : columns) text += fmt::format("{}{}", text.empty() ? "" : ",", column.name);
  return text;
}

/// The lines at the top, up to their values.
constexpr std::string_view fit_line = "# fit: ";
constexpr std::string_view widening_line = "# widening: ";
constexpr std::string_view ratio_line = "# widening of ratios: ";

/// Reads the file by hand: it is the program's own, without quotes, and every run reads its thousand lines.
class Reader {
public:
  Reader(const std::string& name, std::string_view text) : rest_(text), problems_(name, text) {}

  PublishedErrors read() {
    PublishedErrors errors;
    read_top(errors);
    problems_.finish();
    errors.runs.reserve(static_cast<std::size_t>(std::ranges::count(rest_, '\n')));
    while (!rest_.empty()) read_run(next_line(), errors.runs.emplace_back());
    problems_.finish();
    return errors;
  }

private:
  void read_top(PublishedErrors& errors) {
    errors.fit = value_of_line(fit_line);
    if (errors.fit.empty()) wrong("no fit");
    if (!read_factor(value_of_line(widening_line), errors.widening)) wrong("no usable widening");
    std::string_view factors = value_of_line(ratio_line);
    for (const auto& change : config::Names<RunChange>::table) {
      const std::size_t end = std::min(factors.find(", "), factors.size());
      std::string_view one = factors.substr(0, end);
      factors.remove_prefix(std::min(end + 2, factors.size()));
      const bool has_key = one.starts_with(change.text) && one.substr(change.text.size()).starts_with(' ');
      if (has_key) one.remove_prefix(change.text.size() + 1);
      if (!has_key || !read_factor(one, errors.ratio_widening[index_of(change.value)]))
        wrong(fmt::format("no usable widening of ratios for {}", change.text));
    }
    const std::string_view header = next_line();
    for (const bool of_layouts : {false, true}) {
      std::vector<Column> columns = columns_of(of_layouts);
      if (header != header_line(columns)) continue;
      columns_ = std::move(columns);
      of_layouts_ = of_layouts;
      return;
    }
    wrong("other columns than errors of published runs have");
  }

  static bool read_factor(std::string_view text, double& factor) {
    return read_number(text, factor) && factor > 0;
  }

  /// The rest of the next line if it begins so, otherwise nothing.
  std::string_view value_of_line(std::string_view begin) {
    const std::string_view line = next_line();
    return line.starts_with(begin) ? line.substr(begin.size()) : std::string_view();
  }

  std::string_view next_line() {
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
  }

  void read_run(std::string_view line, PublishedError& run) {
    if (of_layouts_) run.of.layout.emplace();
    for (const Column& column : columns_) {
      const std::size_t end = std::min(line.find(','), line.size());
      if (!column.read(line.substr(0, end), run)) return wrong(fmt::format("no usable {}", column.name));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    if (!line.empty()) wrong("more cells than columns");
    if (run.measured <= 0 || run.predicted <= 0) wrong("measured and predicted are not above 0");
  }

  void wrong(std::string message) {
    problems_.error(line_, std::move(message), "write the file with 'trainyard validate --errors'");
  }

  std::string_view rest_;
  CsvProblems problems_;
  int line_ = 0;
  std::vector<Column> columns_;
  bool of_layouts_ = false;
};

}  // namespace

PublishedErrors read_published_errors(const std::string& name, std::string_view text) {
  return Reader(name, text).read();
}

std::string published_errors_text(const PublishedErrors& errors) {
  std::string text =
      fmt::format("{}{}\n{}{:.4g}\n{}", fit_line, errors.fit, widening_line, errors.widening, ratio_line);
  for (const auto& change : config::Names<RunChange>::table) {
    text += fmt::format("{}{} {:.4g}", change.value == RunChange::gpus ? "" : ", ", change.text,
                        errors.ratio_widening[index_of(change.value)]);
  }
  text += '\n';
  const bool of_layouts = !errors.runs.empty() && errors.runs.front().of.layout;
  const std::vector<Column> columns = columns_of(of_layouts);
  text += header_line(columns) + "\n";
  for (const PublishedError& run : errors.runs) {
    for (const Column& column : columns) text += (&column == &columns.front() ? "" : ",") + column.text(run);
    text += '\n';
  }
  return text;
}

std::string circumstances_text(const Circumstances& of) {
  return published_errors_text({.fit = "one", .runs = {{.of = of, .measured = 1, .predicted = 1}}});
}

Circumstances read_circumstances(const std::string& text) {
  return read_published_errors("", text).runs.front().of;
}

}  // namespace trainyard
