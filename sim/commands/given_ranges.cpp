#include "commands/given_ranges.hpp"

#include "commands/values_in_force.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/resolve.hpp"
#include "run/child_processes.hpp"
#include "sweep/value_range.hpp"
#include "units/range_text.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// The values that keys have where the command line says nothing about them. None where the experiment is
/// incomplete without them.
class ValuesOfFiles {
public:
  ValuesOfFiles(const config::Catalogue& catalogue, const std::string& experiment, Overrides others) {
    // Without a file nothing sets a batch: a run chooses it last.
    is_batch_chosen_ =
        experiment == no_file && !sets(others, "batch_per_gpu") && !sets(others, global_batch_key);
    if (is_batch_chosen_) others.emplace_back("batch_per_gpu", "1");
    InputFiles files;
    files.wants_published_errors = false;
    try {
      values_.emplace(catalogue, resolve_with_totals(catalogue, experiment, others, files));
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

/// A job that sets some keys to ends of their ranges.
struct EndOfRanges {
  Overrides ends;
  std::string in_words;  ///< "platform.node.nics=1..8 at 8"
};

std::string range_in_words(const InputRange& input) { return input.key + '=' + input.range; }

StepSpeed speed_of(const ChildOutcome& outcome, const EndOfRanges& end) {
  const std::string message = fmt::format("{} is refused: {}", end.in_words, outcome.text);
  if (outcome.kind == ChildOutcome::wrong_input)
    throw InputError(message, "a range whose ends are both possible");
  if (outcome.kind == ChildOutcome::job_impossible) throw JobImpossible(message);
  const std::vector<double> numbers = unpacked(value_of(outcome));
  return {.time = Seconds{numbers.at(0)}, .throughput = numbers.at(1)};
}

}  // namespace

GivenRanges given_ranges(const config::Catalogue& catalogue, const ExperimentOptions& asked) {
  const std::vector<std::string> texts = with_one_gpu(with_keys(asked.set, asked.keys), asked.one_gpu);
  const Overrides overrides = overrides_of(texts);
  GivenRanges given{.what = asked, .inputs = {}};
  std::vector<RangeEnds> ranges;
  Overrides others;
  for (const auto& [key, value] : overrides) {
    const std::optional<RangeEnds> ends = ends_of_range(value);
    if (!ends) {
      others.emplace_back(key, value);
      continue;
    }
    if (std::ranges::count(overrides, key, &Overrides::value_type::first) > 1)
      throw CLI::ValidationError("--set", fmt::format("'{}' is given twice, once as a range", key));
    given.inputs.push_back(
        {.key = key, .range = value, .low = ends->low, .high = ends->high, .value = ends->low});
    ranges.push_back(*ends);
  }
  if (ranges.empty()) return given;
  if (ranges.size() > most_ranges)
    throw CLI::ValidationError(
        "--set", fmt::format("{} keys are given as ranges, at most {} can be; 'trainyard sweep' takes more",
                             ranges.size(), most_ranges));
  ValuesOfFiles files(catalogue, asked.experiment, others);
  given.what.keys = {};
  given.what.one_gpu.reset();
  given.what.set.clear();
  for (const auto& [key, value] : overrides) {
    std::string its = value;
    const auto input = std::ranges::find(given.inputs, key, &InputRange::key);
    if (input != given.inputs.end()) {
      its = input->low;
      const std::optional<std::string> of_file = files.value(key);
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
  std::vector<EndOfRanges> points;
  for (const InputRange& input : inputs) {
    for (const std::string& end : {input.low, input.high})
      points.push_back({with(asked, input.key, end), fmt::format("{} at {}", range_in_words(input), end)});
  }
  const std::size_t alone = points.size();
  if (inputs.size() == most_simulated_together) {
    const InputRange &first = inputs[0], &second = inputs[1];
    for (const std::string& one : {first.low, first.high}) {
      for (const std::string& other : {second.low, second.high})
        points.push_back({with(with(asked, first.key, one), second.key, other),
                          fmt::format("{} at {} with {} at {}", range_in_words(first), one,
                                      range_in_words(second), other)});
    }
  }
  SimulateOptions of_ends = how;
  of_ends.timeline = of_ends.rows = of_ends.learn = false;
  const auto simulated = [&](int point) {
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
  std::vector<StepSpeed> all;
  for (std::size_t i = 0; i < points.size(); ++i) all.push_back(speed_of(outcomes[i], points[i]));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].at_low = all[2 * i];
    inputs[i].at_high = all[2 * i + 1];
  }
  std::copy(all.begin() + static_cast<std::ptrdiff_t>(alone), all.end(), std::back_inserter(speeds.together));
  speeds.inputs = std::move(inputs);
  return speeds;
}

}  // namespace trainyard
