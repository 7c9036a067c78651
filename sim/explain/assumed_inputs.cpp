#include "explain/assumed_inputs.hpp"

#include "accuracy/error_bounds.hpp"
#include "config/assumed_values.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/overrides.hpp"
#include "platform/host_launch.hpp"
#include "run/simulate.hpp"
#include "units/range_text.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr double factor_of_rates = 2;
constexpr double part_of_ratios = 0.3;

/// An assumed number, which may stand in several places of a file.
struct AssumedInput {
  std::vector<std::string> keys;  ///< as overrides name them
  std::string value, reason;
  RangeEnds ends;
  std::string_view kind = {};  ///< of quantity
  bool is_slow_at_high = false;
  Pace slow = {};  ///< at the slow end
};

/// Ratios above 1 that make a step slower the larger they are.
bool is_slowing(const std::string& path) { return path.find("oversubscription") != std::string::npos; }

/// The plausible range of an assumed value; nothing for sizes and other kinds that are no rate.
std::optional<RangeEnds> plausible_range(const config::AssumedValue& assumed) {
  if (assumed.range) return plain_range(*assumed.range);
  const std::optional<PlainValue> value = plain_value(assumed.value);
  if (!value || value->number <= 0) return std::nullopt;
  const auto times = [&](double factor) { return config::scaled_text(assumed.value, factor).value_or(""); };
  if (!value->kind.empty()) {
    const bool is_rate = value->kind == quantity_name<Bandwidth>() ||
                         value->kind == quantity_name<FlopRate>() || value->kind == quantity_name<Seconds>();
    return is_rate ? std::optional(RangeEnds{times(1 / factor_of_rates), times(factor_of_rates)})
                   : std::nullopt;
  }
  if (parse_integer(assumed.value) && value->number > 1) {
    const double change = std::max(1.0, std::round(part_of_ratios * value->number));
    return RangeEnds{shortest(value->number - change), shortest(value->number + change)};
  }
  const double high = (1 + part_of_ratios) * value->number;
  return RangeEnds{digits12((1 - part_of_ratios) * value->number),
                   digits12(value->number <= 1 ? std::min(high, 1.0) : high)};
}

/// Whether published runs with known errors were predicted with a file: `is_same` tells which.
template <class Is>
bool is_in_errors(const Run& run, Is is_same) {
  const PublishedErrors* const errors = run.experiment.published_errors.get();
  return errors != nullptr &&
         std::ranges::any_of(errors->runs, [&](const PublishedError& error) { return is_same(error.of); });
}

/// The assumed numbers of a file, those with the same value and reason together.
void add_inputs(const config::Document& document, const std::string& prefix,
                std::vector<AssumedInput>& inputs) {
  const std::size_t first = inputs.size();
  for (config::AssumedValue& value : config::assumed_values(document.root)) {
    const auto known = std::find_if(inputs.begin() + static_cast<std::ptrdiff_t>(first), inputs.end(),
                                    [&](const AssumedInput& input) {
                                      return input.reason == value.reason && input.value == value.value;
                                    });
    if (known != inputs.end()) {
      known->keys.push_back(prefix + value.path);
      continue;
    }
    std::optional<RangeEnds> ends = plausible_range(value);
    const std::optional<PlainValue> number = plain_value(value.value);
    if (!ends || !number) continue;
    const bool is_slow_at_high = number->kind == quantity_name<Seconds>() || is_slowing(value.path);
    inputs.push_back({.keys = {prefix + value.path},
                      .value = std::move(value.value),
                      .reason = std::move(value.reason),
                      .ends = *std::move(ends),
                      .kind = number->kind,
                      .is_slow_at_high = is_slow_at_high});
  }
}

/// The factors that keys of speeds allow.
constexpr double least_speed = 0.01, most_speed = GpuProfile::highest_speed;

/// Notes on hypothetical hardware: speed factors, uncertain by 30 % of their logarithm. Factors given as
/// ranges have these ranges.
void add_hypothetical(const Run& run, std::vector<AssumedInput>& inputs) {
  const auto add = [&](const char* key, double speed) {
    const auto is_range = [&](const InputRange& range) { return range.key == key; };
    if (speed == 1 || (run.ranges && std::ranges::any_of(run.ranges->inputs, is_range))) return;
    const auto allowed = [](double factor) { return std::clamp(factor, least_speed, most_speed); };
    const double ends[]{allowed(std::pow(speed, 1 - part_of_ratios)),
                        allowed(std::pow(speed, 1 + part_of_ratios))};
    inputs.push_back({.keys = {key},
                      .value = shortest(speed),
                      .reason = "hypothetical",
                      .ends = {.low = fmt::format("{:.4g}", std::ranges::min(ends)),
                               .high = fmt::format("{:.4g}", std::ranges::max(ends))}});
  };
  const LinkSpeeds& links = run.experiment.platform.speeds;
  // a measurement of one GPU fixes the kernel times, whatever the speed factor
  if (!run.experiment.settings.one_gpu) add("gpu.speed", run.experiment.gpu.has_speed);
  add("platform.node.speed.nvlink", links.nvlink);
  add("platform.node.speed.pcie", links.pcie);
  add("platform.node.speed.sockets", links.sockets);
}

/// The host that launches kernels, where nobody measured it: published runs with a lowering had other hosts.
void add_host(const Run& run, std::vector<AssumedInput>& inputs) {
  if (!run.experiment.lowering) return;
  const Sourced<double> launch = host_launch(run.experiment.platform);
  if (launch.provenance != Provenance::assumed) return;
  inputs.push_back({.keys = {"platform.node.host.launch"},
                    .value = shortest(launch.value),
                    .reason = launch.source,
                    .ends = {.low = digits12((1 - part_of_ratios) * launch.value),
                             .high = digits12((1 + part_of_ratios) * launch.value)},
                    .is_slow_at_high = true});
}

/// All candidates of a run.
std::vector<AssumedInput> inputs_of(const config::Catalogue& catalogue, const Run& run, InputFiles& files) {
  const ResolvedExperiment& resolved = run.experiment;
  FileOverrides overrides;
  for (const auto& [key, value] : resolved.settings.set) overrides[key] = {value, std::nullopt};
  const fs::path platform = find_once(files, catalogue, config::Kind::platform, resolved.settings.platform);
  std::vector<AssumedInput> inputs;
  add_hypothetical(run, inputs);
  add_host(run, inputs);
  const auto add = [&](const fs::path& file, const std::string& kind) {
    add_inputs(load_with(files, file, kind, overrides), kind + '.', inputs);
  };
  const auto has_platform = [&](const Circumstances& of) {
    return of.platform == resolved.platform.name && (run.nodes == 1 || of.nodes > 1);
  };
  if (!is_in_errors(run, has_platform)) add(platform, "platform");
  // A measurement of one GPU fixes the kernel times, whatever the profile.
  const auto has_profile = [&](const Circumstances& of) { return of.use.gpu == resolved.gpu.name; };
  if (!resolved.settings.one_gpu && !is_in_errors(run, has_profile)) {
    const config::Kind kind = profile_kind(resolved.platform);
    const std::string& named = resolved.platform.gpu_profile;
    add(find_once(files, catalogue, kind, config::is_path(named) ? named : resolved.gpu.name, platform),
        kind == config::Kind::gpu ? "gpu" : "processor");
  }
  const auto has_model = [&](const Circumstances& of) {
    return without_length(of.use.model) == resolved.model->name;
  };
  if (!is_in_errors(run, has_model))
    add(find_once(files, catalogue, config::Kind::model, *resolved.settings.model), "model");
  if (!is_in_errors(run, [&](const Circumstances& of) { return of.use.stack == resolved.stack.name; }))
    add(find_once(files, catalogue, config::Kind::stack, resolved.settings.stack), "stack");
  return inputs;
}

/// Closed paces of the experiment with some inputs changed.
class Paces {
public:
  Paces(const config::Catalogue& catalogue, const std::string& experiment, Overrides overrides,
        InputFiles& files)
      : catalogue_(catalogue), experiment_(experiment), overrides_(std::move(overrides)), files_(files) {}

  /// Nothing if the values are refused.
  std::optional<Pace> with(const Overrides& changes) {
    Overrides all = overrides_;
    all.insert(all.end(), changes.begin(), changes.end());
    try {
      return closed_pace(resolve(catalogue_, experiment_, all, files_));
    } catch (const InputError&) {
    } catch (const JobImpossible&) {
    }
    return std::nullopt;
  }

private:
  const config::Catalogue& catalogue_;
  const std::string& experiment_;
  Overrides overrides_;
  InputFiles& files_;
};

void set(const AssumedInput& input, const std::string& value, Overrides& changes) {
  for (const std::string& key : input.keys) changes.emplace_back(key, value);
}

/// The inputs that alone make the step slower by least_effect_of_assumed.
class EffectiveInputs {
public:
  EffectiveInputs(Paces& paces, const Pace& base) : paces_(paces), base_(base) {}

  /// Takes in those of a list; false if all of them together do not have that effect, so that each is left
  /// out without a simulation of its own. `is_known`: they have it together.
  bool take_in(std::span<AssumedInput> inputs, bool is_known = false) {
    if (inputs.empty()) return false;
    if (inputs.size() > 1 && is_known) return take_in_halves(inputs);
    Overrides changes;
    for (const AssumedInput& input : inputs)
      set(input, input.is_slow_at_high ? input.ends.high : input.ends.low, changes);
    const std::optional<Pace> pace = paces_.with(changes);
    if (pace && pace->time < (1 + least_effect_of_assumed) * base_.time) return false;
    if (inputs.size() > 1) return take_in_halves(inputs);
    if (!pace) return false;  // a refused end is impossible
    inputs.front().slow = *pace;
    found_.push_back(std::move(inputs.front()));
    return true;
  }

  /// The inputs with the largest effects, the largest first.
  std::vector<AssumedInput> largest(std::size_t most) && {
    std::ranges::stable_sort(found_, std::ranges::greater{},
                             [](const AssumedInput& input) { return input.slow.time; });
    if (found_.size() > most) found_.resize(most);
    return std::move(found_);
  }

private:
  bool take_in_halves(std::span<AssumedInput> inputs) {
    const std::size_t half = inputs.size() / 2;
    const bool is_in_first = take_in(inputs.first(half));
    take_in(inputs.subspan(half), !is_in_first);
    return true;
  }

  Paces& paces_;
  const Pace& base_;
  std::vector<AssumedInput> found_ = {};
};

/// Without ".value", which is a detail of the file.
std::string key_for_readers(const std::string& key) {
  constexpr std::string_view end = ".value";
  return key.ends_with(end) ? key.substr(0, key.size() - end.size()) : key;
}

bool has_hypothetical_speed(const ResolvedExperiment& resolved) {
  const LinkSpeeds& links = resolved.platform.speeds;
  return resolved.gpu.has_speed != 1 || links.nvlink != 1 || links.pcie != 1 || links.sockets != 1;
}

}  // namespace

bool has_closed_steps(const ResolvedExperiment& resolved) {
  return !is_multi_update(resolved.settings) && resolved.model && resolved.neighbours.empty() &&
         resolved.settings.background.empty();
}

std::optional<InputRanges> assumed_inputs(const config::Catalogue& catalogue, const std::string& experiment,
                                          const Overrides& overrides, const Run& run, InputFiles& files,
                                          std::size_t most) {
  if (!has_closed_steps(run.experiment)) return std::nullopt;
  std::vector<AssumedInput> inputs = inputs_of(catalogue, run, files);
  if (inputs.empty()) return std::nullopt;
  Overrides unchanged = overrides;
  if (run.experiment.settings.one_gpu) {
    std::erase_if(unchanged, [](const auto& entry) { return entry.first.starts_with("one_gpu"); });
    for (auto& kept : kept_one_gpu(run.experiment)) unchanged.push_back(std::move(kept));
  }
  Paces paces(catalogue, experiment, std::move(unchanged), files);
  // Where the run has the times of closed forms, its own pace is the base, to the bit.
  const bool is_closed = network_engine(run).value_or(NetworkEngine::formulas) == NetworkEngine::formulas;
  const std::optional<Pace> base = is_closed ? run.pace : paces.with({});
  if (!base) return std::nullopt;
  // The order of keys in a file does not count. Latencies rarely matter: next to each other they are left out
  // together.
  for (AssumedInput& input : inputs) std::ranges::sort(input.keys);
  std::ranges::sort(inputs, {}, [](const AssumedInput& input) { return std::pair(input.kind, input.keys); });
  EffectiveInputs effective(paces, *base);
  effective.take_in(inputs);
  std::vector<AssumedInput> kept = std::move(effective).largest(most);
  if (kept.empty()) return std::nullopt;

  const StepSpeed of_run{run.pace.time, run.pace.throughput};
  const auto of_pace = [&](const Pace& pace) {
    return StepSpeed{pace.time / base->time * of_run.time,
                     pace.throughput / base->throughput * of_run.throughput};
  };
  // An end that is refused, such as more than a link's bandwidth, is impossible: then the value itself is the
  // end.
  const auto at_fast_end = [&](AssumedInput& input) {
    std::string& end = input.is_slow_at_high ? input.ends.low : input.ends.high;
    Overrides changes;
    set(input, end, changes);
    const std::optional<Pace> pace = paces.with(changes);
    if (!pace) end = input.value;
    return of_pace(pace.value_or(*base));
  };
  std::vector<InputRange> ranges;
  for (AssumedInput& input : kept) {
    StepSpeed low = of_pace(input.slow), high = at_fast_end(input);
    if (input.is_slow_at_high) std::swap(low, high);
    ranges.push_back({.key = key_for_readers(input.keys.front()),
                      .range = input.ends.low + ".." + input.ends.high,
                      .low = input.ends.low,
                      .high = input.ends.high,
                      .value = input.value,
                      .at_low = low,
                      .at_high = high,
                      .reason = input.reason,
                      .places = static_cast<int>(input.keys.size())});
  }
  return combined(std::move(ranges), of_run);
}

void widen_by(const InputRanges& inputs, double throughput, Run& run) {
  if (!run.expected_error) return;
  const ErrorBounds bounds = widened(bounds_of(*run.expected_error), inputs.slowest.throughput / throughput,
                                     inputs.fastest.throughput / throughput);
  run.expected_error->low = bounds.low;
  run.expected_error->high = bounds.high;
}

void add_assumed_inputs(const config::Catalogue& catalogue, const std::string& experiment,
                        const Overrides& overrides, Run& run, InputFiles& files, std::size_t most) {
  if (!has_closed_steps(run.experiment) && has_hypothetical_speed(run.experiment)) {
    const std::string why =
        "the effect of its hypothetical speed is known only for steady steps of a model, "
        "alone on the network";
    run.expected_error = unknown(why);
    run.predicted_job = unknown(why);  // nor that of a comparison
    return;
  }
  run.assumed = assumed_inputs(catalogue, experiment, overrides, run, files, most);
  if (run.assumed) widen_by(*run.assumed, run.pace.throughput, run);
}

}  // namespace trainyard
