#include "sweep/run_sweep.hpp"

#include "config/diagnostic.hpp"
#include "config/utf8.hpp"
#include "run/child_processes.hpp"
#include "sweep/read_point.hpp"
#include "sweep/sweep_store.hpp"
#include "units/control_characters.hpp"
#include "units/ids.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace trainyard {
namespace {

/// Joins several lines: a row of a table has only one. Names of files may hold any bytes; terminals, CSV and
/// JSON do not take them all.
std::string on_one_line(const std::string& message) {
  std::string text = without_controls(message);
  config::replace_invalid_utf8(text);
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

/// A worker's report on a point.
struct PointAnswer {
  PointStatus status = PointStatus::done;
  std::string reason = {};
  std::vector<std::optional<double>> figures = {};
  std::vector<std::string> warnings = {};
  std::map<std::string, std::string> files = {};  ///< that are new in the worker, with their hashes
};

PointAnswer failed(PointStatus status, const std::string& reason) {
  return {.status = status, .reason = on_one_line(reason)};
}

/// Binary JSON: numbers keep their bits, and names of files their bytes.
std::string packed_answer(const PointAnswer& answer) {
  nlohmann::json figures = nlohmann::json::array();
  for (const std::optional<double>& figure : answer.figures) {
    if (!std::isfinite(figure.value_or(0))) throw std::runtime_error("a figure of the result is not finite");
    figures.push_back(figure ? nlohmann::json(*figure) : nlohmann::json());
  }
  const nlohmann::json all{static_cast<int>(answer.status), answer.reason, std::move(figures),
                           answer.warnings, answer.files};
  std::string bytes;
  nlohmann::json::to_cbor(all, bytes);
  return bytes;
}

PointAnswer unpacked_answer(const std::string& bytes) {
  const nlohmann::json all = nlohmann::json::from_cbor(bytes);
  PointAnswer answer{.status = static_cast<PointStatus>(all.at(0).get<int>()),
                     .reason = all.at(1),
                     .figures = {},
                     .warnings = all.at(3),
                     .files = all.at(4)};
  for (const nlohmann::json& figure : all.at(2))
    answer.figures.push_back(figure.is_null() ? std::nullopt : std::optional(figure.get<double>()));
  return answer;
}

/// Reads points and simulates them, in a worker.
class PointReader {
public:
  PointReader(const config::Catalogue& catalogue, const Sweep& sweep, const SweepRun& run)
      : catalogue_(catalogue), sweep_(sweep), run_(run) {}

  /// Reads the files of a point before workers are begun, which then share them. A worker reports the errors.
  void read_ahead(std::size_t point) {
    try {
      read_point(catalogue_, sweep_, sweep_.points[point], files_);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
    hash_new_files();
  }

  PointAnswer answer(std::size_t point) {
    std::vector<std::string> warnings;
    PointAnswer answer = simulated(point, warnings);
    answer.warnings = std::move(warnings);
    hash_new_files();
    answer.files = new_hashes_;
    return answer;
  }

  /// Files read since the last call, with their hashes.
  std::map<std::string, std::string> take_new_hashes() { return std::exchange(new_hashes_, {}); }

private:
  /// A missing file is the point's fault while the point is read, and the program's own in its simulation.
  PointAnswer simulated(std::size_t point, std::vector<std::string>& warnings) {
    std::optional<ResolvedExperiment> resolved;
    try {
      try {
        resolved = read_point(catalogue_, sweep_, sweep_.points[point], files_);
      } catch (const FileError& error) {
        return failed(PointStatus::unreadable, error.what());
      }
      for (const Diagnostic& warning : resolved->warnings) warnings.push_back(to_string(warning));
      return {.figures = run_.figures(point, *std::move(resolved))};
    } catch (const InputError& error) {
      return failed(PointStatus::wrong, reason_of(error));
    } catch (const JobImpossible& error) {
      return failed(PointStatus::impossible, error.what());
    }
  }

  void hash_new_files() {
    for (const std::string& path : files_.paths) {
      if (hashed_.insert(path).second) new_hashes_[path] = hash_or_nothing(path);
    }
  }

  const config::Catalogue& catalogue_;
  const Sweep& sweep_;
  const SweepRun& run_;
  InputFiles files_;
  std::set<std::string> hashed_;  ///< of files_.paths
  std::map<std::string, std::string> new_hashes_;
};

}  // namespace

SweepOutcome run_points(const config::Catalogue& catalogue, const Sweep& sweep,
                        const std::vector<std::size_t>& points, const SweepRun& run) {
  SweepOutcome outcome;
  std::set<std::string> warnings;
  PointReader reader(catalogue, sweep, run);
  if (at(run.parallel) < points.size()) reader.read_ahead(points.front());
  std::map<std::string, std::string> files = reader.take_new_hashes();
  std::vector<std::string> paths;
  for (const auto& [path, hash] : files) paths.push_back(path);
  std::size_t begun = 0;
  const auto next = [&]() -> std::optional<int> {
    if (begun == points.size()) return std::nullopt;
    outcome.is_interrupted = run.is_interrupted && run.is_interrupted();
    return outcome.is_interrupted ? std::nullopt : std::optional(static_cast<int>(points[begun++]));
  };
  const auto make = [&](int point) {
    std::string answer = packed_answer(reader.answer(at(point)));
    reader.take_new_hashes();  // they are on their way
    return answer;
  };
  const auto done = [&](int index, const ChildOutcome& ended) {
    const std::size_t point = at(index);
    if (ended.kind == ChildOutcome::job_impossible) {  // it exceeded a limit
      run.done({.point = point, .status = PointStatus::impossible, .reason = ended.text, .figures = {}},
               paths);
      return;
    }
    if (ended.kind == ChildOutcome::file_error) throw FileError(ended.text);  // of the program, not the point
    if (ended.kind != ChildOutcome::value) {
      outcome.broken.push_back(fmt::format("{}: {}", point_in_words(sweep, point), on_one_line(ended.text)));
      return;
    }
    PointAnswer answer = unpacked_answer(ended.text);
    for (const auto& [path, hash] : answer.files) {
      const auto [known, is_new] = files.emplace(path, hash);
      if (is_new) paths.push_back(path);
      if (known->second != hash)
        throw InputError(in_quotes(path) + " has changed while the sweep ran", "run it again");
    }
    warnings.insert(answer.warnings.begin(), answer.warnings.end());
    run.done({.point = point,
              .status = answer.status,
              .reason = std::move(answer.reason),
              .figures = std::move(answer.figures)},
             paths);
  };
  for_each_in_workers(run.parallel, next, make, done, run.kind_of);
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
