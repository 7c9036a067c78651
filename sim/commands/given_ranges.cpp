#include "commands/given_ranges.hpp"

#include "commands/values_in_force.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/resolve.hpp"
#include "run/child_processes.hpp"
#include "sweep/value_range.hpp"
#include "units/range_text.hpp"
#include "units/text.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// The values that keys have where the command line says nothing about them. None where the experiment is
/// incomplete without them.
class ValuesOfFiles {
public:
  ValuesOfFiles(const config::Catalogue& catalogue, const std::string& experiment, Overrides remaining,
                const InputFiles& of_run) {
    // Without a file nothing sets a batch: a run chooses it last.
    is_batch_chosen_ =
        experiment == no_file && !sets(remaining, "batch_per_gpu") && !sets(remaining, global_batch_key);
    if (is_batch_chosen_) remaining.emplace_back("batch_per_gpu", "1");
    InputFiles files;
    files.wants_published_errors = false;
    files.in_place_of = of_run.in_place_of;
    try {
      values_.emplace(catalogue, resolve_with_totals(catalogue, experiment, remaining, files));
    } catch (const InputError&) {  // the run with the low ends is complete, or reports it
    } catch (const JobImpossible&) {
    }
  }

  std::optional<std::string> value(const std::string& key) {
    if (!values_ || (is_batch_chosen_ && key == "batch_per_gpu")) return std::nullopt;
    return values_->value(key);
  }

private:
  static bool sets(const Overrides& overrides, std::string_view key) {
    return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
  }

  std::optional<ValuesInForce> values_;
  bool is_batch_chosen_ = false;
};

/// Sets a key at the place where it is set, or last.
Overrides with(Overrides overrides, const std::string& key, const std::string& value) {
  const auto its = std::ranges::find(overrides, key, &Overrides::value_type::first);
  if (its == overrides.end())
    overrides.emplace_back(key, value);
  else
    its->second = value;
  return overrides;
}

using Texts = std::vector<std::pair<std::string, std::string>>;

/// Adds the paths and texts of ranges below a node of an experiment's file.
void add_ranges_in(const config::Node& node, const std::string& path, Texts& ranges) {
  if (node.kind == config::Node::Kind::scalar && plain_range(node.scalar))
    ranges.emplace_back(path, node.scalar);
  for (const config::Node::Entry& entry : node.entries)
    add_ranges_in(entry.value, path == "set" ? entry.key : config::join(path, entry.key), ranges);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    add_ranges_in(node.items[i], config::join(path, i), ranges);
}

/// Puts values in place of texts at paths of an experiment, as add_ranges_in() names them.
void put_values(config::Node& node, const std::string& path, const Overrides& values) {
  const auto value = std::ranges::find(values, path, &Overrides::value_type::first);
  if (node.kind == config::Node::Kind::scalar && value != values.end()) {
    node.scalar = value->second;
    node.quoted = false;
  }
  for (config::Node::Entry& entry : node.entries)
    put_values(entry.value, path == "set" ? entry.key : config::join(path, entry.key), values);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    put_values(node.items[i], config::join(path, i), values);
}

/// The ranges of an experiment's file at one value each, where they are written: what contradicts a key
/// contradicts its range.
void set_in_file(const config::Catalogue& catalogue, const std::string& experiment, const Overrides& values,
                 InputFiles& files) {
  if (values.empty()) return;
  config::Document document = experiment_document(catalogue, experiment, files);
  for (config::Node::Entry& entry : document.root.entries) {
    if (entry.key != "plan") put_values(entry.value, config::join({}, entry.key), values);
  }
  const auto file = find_once(files, catalogue, config::Kind::experiment, experiment);
  files.in_place_of[file.string()] = std::move(document);
}

/// The ranges in an experiment's file, those of its search aside. Errors are left to the run.
Texts ranges_of_file(const config::Catalogue& catalogue, const std::string& experiment, InputFiles& files) {
  Texts ranges;
  if (experiment == no_file) return ranges;
  try {
    for (const config::Node::Entry& entry : experiment_document(catalogue, experiment, files).root.entries) {
      if (entry.key != "plan") add_ranges_in(entry.value, config::join({}, entry.key), ranges);
    }
  } catch (const InputError&) {
    return {};
  } catch (const FileError&) {
    return {};
  }
  return ranges;
}

/// A job that sets some keys to values of their ranges.
struct EndOfRanges {
  Overrides ends;        ///< on the command line
  Overrides in_file;     ///< in the experiment's file
  std::string in_words;  ///< "platform.node.nics=1..8 at 8"
};

std::string range_in_words(const InputRange& input) { return input.key + '=' + input.range; }

/// Powers of two between the ends of a range of whole numbers, at most most_between of them.
std::vector<ValueSpeed> values_between(const InputRange& input) {
  const Parsed<long long> low = parse_integer(input.low), high = parse_integer(input.high);
  std::vector<ValueSpeed> values;
  if (!low || !high) return values;
  for (long long value = 1; value < *high; value *= 2) {
    if (value > *low) values.push_back({std::to_string(value), {}});
  }
  while (values.size() > most_between) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return values;
}

/// A job with a further key at a value of its range.
EndOfRanges with(EndOfRanges job, const InputRange& input, const std::string& value) {
  Overrides& set = input.is_of_file ? job.in_file : job.ends;
  set = with(std::move(set), input.key, value);
  job.in_words +=
      fmt::format("{}{} at {}", job.in_words.empty() ? "" : " with ", range_in_words(input), value);
  return job;
}

/// The jobs that are simulated for ranges: at both ends of each, at the values between, which are put into
/// `inputs`, and at all combinations of the ends of two.
std::vector<EndOfRanges> points_of(const Overrides& asked, std::vector<InputRange>& inputs) {
  EndOfRanges run{.ends = asked, .in_file = {}, .in_words = {}};
  for (const InputRange& input : inputs) {
    if (input.is_of_file) run.in_file.emplace_back(input.key, input.value);
  }
  std::vector<EndOfRanges> points;
  for (const InputRange& input : inputs) {
    for (const std::string& end : {input.low, input.high}) points.push_back(with(run, input, end));
  }
  for (InputRange& input : inputs) {
    input.between = values_between(input);
    for (const ValueSpeed& one : input.between) points.push_back(with(run, input, one.value));
  }
  if (inputs.size() != most_simulated_together) return points;
  for (const std::string& one : {inputs[0].low, inputs[0].high}) {
    for (const std::string& other : {inputs[1].low, inputs[1].high})
      points.push_back(with(with(run, inputs[0], one), inputs[1], other));
  }
  return points;
}

StepSpeed speed_of(const ChildOutcome& outcome, const EndOfRanges& end) {
  const std::string message = fmt::format("{} is refused: {}", end.in_words, outcome.text);
  if (outcome.kind == ChildOutcome::wrong_input)
    throw InputError(message, "a range whose ends are both possible");
  if (outcome.kind == ChildOutcome::job_impossible) throw JobImpossible(message);
  const std::vector<double> numbers = unpacked(value_of(outcome));
  return {.time = Seconds{numbers.at(0)}, .throughput = numbers.at(1)};
}

}  // namespace

GivenRanges given_ranges(const config::Catalogue& catalogue, const ExperimentOptions& asked,
                         InputFiles& files) {
  const std::vector<std::string> texts = with_one_gpu(with_keys(asked.set, asked.keys), asked.one_gpu);
  const Overrides overrides = overrides_of(texts);
  GivenRanges given{.what = asked, .inputs = {}};
  std::vector<RangeEnds> ranges;
  Overrides remaining;
  for (const auto& [key, value] : overrides) {
    const std::optional<RangeEnds> ends = ends_of_range(value);
    if (!ends) {
      remaining.emplace_back(key, value);
      continue;
    }
    if (std::ranges::count(overrides, key, &Overrides::value_type::first) > 1)
      throw CLI::ValidationError("--set", fmt::format("'{}' is given twice, once as a range", key));
    given.inputs.push_back(
        {.key = key, .range = value, .low = ends->low, .high = ends->high, .value = ends->low});
    ranges.push_back(*ends);
  }
  Overrides in_file;
  for (const auto& [key, range] : ranges_of_file(catalogue, asked.experiment, files)) {
    if (std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end()) continue;
    const RangeEnds ends = *ends_of_range(range);
    given.inputs.push_back({.key = key,
                            .range = range,
                            .low = ends.low,
                            .high = ends.high,
                            .value = ends.low,
                            .is_of_file = true});
    ranges.push_back(ends);
    in_file.emplace_back(key, ends.low);
  }
  set_in_file(catalogue, asked.experiment, in_file, files);
  if (ranges.empty()) return given;
  if (ranges.size() > most_ranges)
    throw CLI::ValidationError(
        "--set", fmt::format("{} keys are given as ranges, at most {} can be; 'trainyard sweep' takes more",
                             ranges.size(), most_ranges));
  ValuesOfFiles values(catalogue, asked.experiment, remaining, files);
  given.what.keys = {};
  given.what.one_gpu.reset();
  given.what.set.clear();
  for (const auto& [key, value] : overrides) {
    std::string its = value;
    const auto input = std::ranges::find(given.inputs, key, &InputRange::key);
    if (input != given.inputs.end()) {
      its = input->low;
      const std::optional<std::string> of_file = values.value(key);
      if (of_file && lies_in(*of_file, ranges[static_cast<std::size_t>(input - given.inputs.begin())])) {
        input->value = *of_file;
        continue;  // the file keeps its value, with its source
      }
    }
    given.what.set.push_back(fmt::format("{}={}", key, its));
  }
  return given;
}

SpeedsAtEnds simulate_ends(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& asked, std::vector<InputRange> inputs, InputFiles& files,
                           const SimulateOptions& how) {
  const std::vector<EndOfRanges> points = points_of(asked, inputs);
  SimulateOptions of_ends = how;
  of_ends.timeline = of_ends.rows = of_ends.learn = false;
  const auto simulated = [&](int point) {  // in a child process, which has its own files
    set_in_file(catalogue, experiment, points[at(point)].in_file, files);
    ResolvedExperiment resolved = resolve_with_totals(catalogue, experiment, points[at(point)].ends, files);
    resolved.settings.faults.reset();  // they cost the job time, but not a step
    const Pace pace = simulate(std::move(resolved), of_ends).pace;
    return packed({pace.time.si(), pace.throughput});
  };
  std::vector<ChildOutcome> outcomes(points.size());
  int begun = 0;
  const auto next = [&]() -> std::optional<int> {
    return begun == static_cast<int>(points.size()) ? std::nullopt : std::optional(begun++);
  };
  for_each_in_workers(std::min(static_cast<int>(points.size()), processors()), next, simulated,
                      [&](int point, ChildOutcome outcome) { outcomes[at(point)] = std::move(outcome); });
  SpeedsAtEnds speeds;
  std::size_t point = 0;
  for (InputRange& input : inputs) {
    for (StepSpeed* const end : {&input.at_low, &input.at_high}) {
      *end = speed_of(outcomes[point], points[point]);
      ++point;
    }
  }
  for (InputRange& input : inputs) {
    // a value that the machine or the job refuses does not count: a batch may not divide
    std::vector<ValueSpeed> possible;
    for (ValueSpeed& one : input.between) {
      const ChildOutcome& outcome = outcomes[point];
      const bool is_refused =
          outcome.kind == ChildOutcome::wrong_input || outcome.kind == ChildOutcome::job_impossible;
      if (!is_refused) possible.push_back({std::move(one.value), speed_of(outcome, points[point])});
      ++point;
    }
    input.between = std::move(possible);
  }
  for (; point < points.size(); ++point) speeds.together.push_back(speed_of(outcomes[point], points[point]));
  speeds.inputs = std::move(inputs);
  return speeds;
}

}  // namespace trainyard
