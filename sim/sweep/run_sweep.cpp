#include "sweep/run_sweep.hpp"

#include "config/diagnostic.hpp"
#include "run/child_processes.hpp"
#include "sweep/read_point.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>

namespace trainyard {
namespace {

/// Joins several lines: a row of a table has only one.
std::string on_one_line(const std::string& text) {
  std::string line;
  bool is_break = false;
  for (const char letter : text) {
    if (letter == '\n') {
      is_break = true;
    } else if (!is_break || letter != ' ') {
      if (is_break) line += "; ";
      is_break = false;
      line += letter;
    }
  }
  return line;
}

std::string reason_of(const InputError& error) {
  const std::vector<Diagnostic>& all = error.diagnostics();
  const auto wrong =
      std::ranges::find(all, Severity::error, &Diagnostic::severity);  // warnings may precede it
  const Diagnostic& first = wrong == all.end() ? all.front() : *wrong;
  const std::string key = first.key_path.empty() ? "" : fmt::format(" (in {})", first.key_path);
  return on_one_line(first.message + key + (first.hint.empty() ? "" : "\n" + first.hint));
}

PointStatus status_of(ChildOutcome::Kind kind) {
  switch (kind) {
    case ChildOutcome::value:
      return PointStatus::done;
    case ChildOutcome::wrong_input:
      return PointStatus::wrong;
    case ChildOutcome::job_impossible:
      return PointStatus::impossible;
    case ChildOutcome::file_error:
      return PointStatus::unreadable;
    case ChildOutcome::failure:
      break;
  }
  throw std::logic_error("a point that broke has no row");
}

std::string packed_figures(const std::vector<std::optional<double>>& figures) {
  std::vector<double> numbers;
  numbers.reserve(figures.size());
  for (const std::optional<double>& figure : figures) {
    if (!std::isfinite(figure.value_or(0))) throw std::runtime_error("a figure of the result is not finite");
    numbers.push_back(figure.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return packed(numbers);
}

std::vector<std::optional<double>> unpacked_figures(const std::string& bytes) {
  std::vector<std::optional<double>> figures;
  for (const double number : unpacked(bytes))
    figures.push_back(std::isnan(number) ? std::nullopt : std::optional(number));
  return figures;
}

}  // namespace

SweepOutcome run_points(const config::Catalogue& catalogue, const Sweep& sweep,
                        const std::vector<std::size_t>& points, const SweepRun& run) {
  SweepOutcome outcome;
  InputFiles files;
  std::set<std::string> warnings;
  const auto finish = [&](SweepRow row) { run.done(row, {files.paths.begin(), files.paths.end()}); };
  std::size_t next = 0;
  const auto begin = [&]() -> std::optional<ChildWork> {
    while (next < points.size()) {
      outcome.is_interrupted = run.is_interrupted && run.is_interrupted();
      if (outcome.is_interrupted) return std::nullopt;
      const std::size_t point = points[next++];
      try {
        auto resolved =
            std::make_shared<ResolvedExperiment>(read_point(catalogue, sweep, sweep.points[point], files));
        for (const Diagnostic& warning : resolved->warnings) warnings.insert(to_string(warning));
        return ChildWork{static_cast<int>(point), [&run, resolved = std::move(resolved)] {
                           return packed_figures(run.figures(std::move(*resolved)));
                         }};
      } catch (const InputError& error) {
        finish({.point = point, .status = PointStatus::wrong, .reason = reason_of(error), .figures = {}});
      } catch (const FileError& error) {
        finish({.point = point,
                .status = PointStatus::unreadable,
                .reason = on_one_line(error.what()),
                .figures = {}});
      }
    }
    return std::nullopt;
  };
  const auto end = [&](int index, ChildOutcome ended) {
    const auto point = static_cast<std::size_t>(index);
    if (ended.kind == ChildOutcome::failure) {
      outcome.broken.push_back(fmt::format("{}: {}", point_in_words(sweep, point), on_one_line(ended.text)));
      return;
    }
    SweepRow row{.point = point, .status = status_of(ended.kind), .reason = {}, .figures = {}};
    if (row.status == PointStatus::done)
      row.figures = unpacked_figures(ended.text);
    else
      row.reason = on_one_line(ended.text);
    finish(std::move(row));
  };
  for_each_child(run.parallel, begin, end);
  outcome.warnings.assign(warnings.begin(), warnings.end());
  return outcome;
}

std::string point_in_words(const Sweep& sweep, std::size_t point) {
  std::string text;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    const std::string& value = sweep.points[point][i];
    if (value != default_value)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", sweep.keys[i], value);
  }
  return text.empty() ? experiment_name(sweep) : text;
}

}  // namespace trainyard
