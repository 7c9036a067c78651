#include "published/predict_series.hpp"

#include "compute/op_time.hpp"
#include "experiment/experiment.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/software_use.hpp"
#include "published/changed_stack.hpp"
#include "run/simulate.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

// Runs with servers consist of many updates, which are all alike.
constexpr StepCounts few_steps{.warmup = 2, .measured = 2, .repeats = 1};

// From this number on, a step grows by the same time with every further micro-batch.
constexpr int few_micro_batches = 3;

/// `is_checked`: the result has the properties that every run must have.
double throughput_of(const ResolvedExperiment& resolved, bool is_checked) {
  if (!is_multi_update(resolved.settings)) {
    return (is_checked ? checked_closed_pace(resolved) : closed_pace(resolved)).throughput;
  }
  return simulate(resolved, {.timeline = false, .rows = false}).pace.throughput;
}

/// "platform.fabric.latency": as in --set.
std::string path_of(const FileChange& change) {
  const bool is_gpu = change.kind == config::Kind::gpu;
  return (is_gpu ? std::string("gpu") : std::string(config::word_of(change.kind))) + "." + change.key;
}

/// Does the work; returns why it could not be done, or an empty text.
template <class Work>
std::string reason_against(const Work& work) {
  try {
    work();
    return {};
  } catch (const InputError& error) {
    return error.diagnostics().front().message;
  } catch (const JobImpossible& error) {
    return error.what();
  }
}

/// The runs of one series, read and simulated on demand.
class Series {
public:
  Series(const config::Catalogue& catalogue, const PredictionOptions& options)
      : catalogue_(catalogue), options_(options) {
    files_.wants_published_errors = false;
  }

  PredictedRun predict(const SeriesTarget& target) {
    PredictedRun predicted;
    const MachineRule& machine = *target.run->machine;
    try {
      predicted.measured = measured(*target.run, machine);
      const int few = std::min(target.run->measured.accumulation, few_micro_batches);
      const ResolvedExperiment& its = resolved(*target.run, machine, few);
      predicted.use = software_use(its);
      predicted.divides_layers = circumstances_of(its).divides_layers;
      predicted.linear_from_one_gpu = linear(*target.run, target.one_gpu, machine);
      predicted.linear_from_one_node = linear(*target.run, target.one_node, machine);
    } catch (const InputError& error) {
      for (Prediction& prediction : predicted.by_fit.values)
        prediction.reason = error.diagnostics().front().message;
      return predicted;
    }
    for (Prediction& prediction : predicted.by_fit.values) prediction.reason = "not requested";
    for (const FitKind fit : options_.fits) {
      Prediction& prediction = predicted.by_fit[fit];
      if (fit == FitKind::nothing) {
        prediction = with_software(*target.run, Software{});
      } else if (fit == FitKind::software) {
        if (options_.software == nullptr) {
          prediction.reason = "no published one-GPU run to fit software to";
          continue;
        }
        prediction = with_software(*target.run, software_without(target.run->series));
      } else if (const auto& to = fit == FitKind::one_gpu ? target.one_gpu : target.one_node; !to.empty()) {
        prediction = fitted(target, to);
      }
    }
    return predicted;
  }

  KernelTimes kernel_times(const PublishedRun& run) {
    KernelTimes times{.row = run.row, .series = run.series, .rounding = run.measured.rounding};
    const int micro_batches = run.measured.accumulation;
    const int few = std::min(micro_batches, few_micro_batches);
    add_kernels(resolved(run, *run.machine, few), 1, times);
    if (micro_batches > few) {  // each further micro-batch adds the same
      add_kernels(resolved(run, *run.machine, few), micro_batches - few, times);
      add_kernels(resolved(run, *run.machine, few - 1), few - micro_batches, times);
    }
    times.use = software_use(resolved(run, *run.machine, few));
    const double samples = 1.0 * run.measured.batch_per_gpu * micro_batches;
    times.measured = samples / measured(run, *run.machine);
    times.rest = samples / throughput(run, *run.machine, {.slowdown = OpSlowdown{}});
    for (const double kernels : times.kernels.values) times.rest -= kernels;
    return times;
  }

  OneRun solve(const PublishedRun& run) {
    return {.measured = measured(run, *run.machine),
            .predicted = throughput(run, *run.machine, {}),
            .scale = scale_of(run, *run.machine)};
  }

private:
  /// Changes of a prediction in the run's stack.
  struct Change {
    double scale = 1;                         ///< factor on all kernel times
    std::optional<OpSlowdown> slowdown = {};  ///< instead of that of the shipped software
    bool equal_gpus = false;                  ///< the step does not wait for the slowest of its GPUs
  };

  /// The fit to the runs of all other series.
  const Software& software_without(const SeriesKey& series) {
    if (!software_) {
      std::vector<std::size_t> its;
      const std::vector<KernelTimes>& runs = options_.software->runs();
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].series == series) its.push_back(i);
      }
      software_ = options_.software->without(its);
    }
    return *software_;
  }

  static void add_kernels(const ResolvedExperiment& of, double times, KernelTimes& sum) {
    for (const Op& op : only_class(of).trace.ops) {
      if (op.duration) continue;  // given: no factor changes it
      const Seconds kernel = op_time(of.gpu, of.settings.precision, op, of.stack.layout).duration;
      sum.kernels[group_of(op.kind)] += times * kernel.si();
      sum.ops += times;
    }
  }

  /// The run with this number of micro-batches per step.
  ResolvedExperiment& resolved(PublishedRun run, const MachineRule& machine, int micro_batches) {
    const auto key = std::tuple(run.row, &machine, micro_batches);
    const auto known = inputs_.find(key);
    if (known != inputs_.end()) return known->second;
    run.measured.accumulation = micro_batches;
    ResolvedExperiment read = inputs_of(catalogue_, run, machine, files_);
    if (const Overrides changed = changes_of(read, run); !changed.empty())
      read = inputs_of(catalogue_, run, machine, files_, changed);
    read.settings.steps = few_steps;
    return inputs_.emplace(key, std::move(read)).first->second;
  }

  /// Those of the options' changes that apply to files of the run.
  [[nodiscard]] Overrides changes_of(const ResolvedExperiment& read, const PublishedRun& run) const {
    Overrides its;
    for (const FileChange& change : options_.changes) {
      const bool is_used = (change.kind == config::Kind::platform && change.name == read.platform.name) ||
                           (change.kind == config::Kind::gpu && change.name == read.gpu.name) ||
                           (change.kind == config::Kind::stack && change.name == run.stack->stack) ||
                           (change.kind == config::Kind::model && change.name == run.model->model);
      if (is_used) its.emplace_back(path_of(change), change.value);
    }
    return its;
  }

  /// Samples per second, as published.
  double measured(const PublishedRun& run, const MachineRule& machine) {
    if (run.measured.throughput) return *run.measured.throughput;
    const std::optional<double> samples = resolved(run, machine, 1).samples_per_epoch;
    if (!samples) throw InputError("the number of samples per epoch is not known for this model");
    return *samples / *run.measured.epoch_time;
  }

  std::optional<double> linear(const PublishedRun& run, const std::vector<const PublishedRun*>& from,
                               const MachineRule& machine) {
    if (from.empty()) return std::nullopt;
    std::vector<double> per_gpu;
    for (const PublishedRun* one : from) per_gpu.push_back(measured(*one, machine) / one->row->gpus_total);
    return geometric_mean(per_gpu) * run.row->gpus_total;
  }

  double throughput(const PublishedRun& run, const MachineRule& machine, const Change& change) {
    const int micro_batches = run.measured.accumulation;
    if (micro_batches <= few_micro_batches) return throughput(run, machine, change, micro_batches);
    // Each further micro-batch adds the same time, so steps with thousands of them need not be simulated op
    // by op.
    const auto time_of = [&](int few) { return few / throughput(run, machine, change, few); };
    const double last = time_of(few_micro_batches);
    const double each = last - time_of(few_micro_batches - 1);
    return micro_batches / (last + (micro_batches - few_micro_batches) * each);
  }

  double throughput(const PublishedRun& run, const MachineRule& machine, const Change& change,
                    int micro_batches) {
    ResolvedExperiment& its = resolved(run, machine, micro_batches);
    const ChangedStack stack(its);
    stack->compute_scale.value *= change.scale;
    if (change.slowdown) stack->slowdown = *change.slowdown;
    if (options_.equal_gpus || change.equal_gpus) stack->slowest_gpu = 1;
    return throughput_of(its, change.scale == 1 && !change.slowdown);
  }

  Prediction changed(const PublishedRun& run, const std::function<Change()>& change_of) {
    Prediction prediction;
    prediction.reason = reason_against([&] {
      const Change change = change_of();
      prediction.compute_scale = change.scale;
      prediction.throughput = throughput(run, *run.machine, change);
    });
    return prediction;
  }

  Prediction with_software(const PublishedRun& run, const Software& software) {
    return changed(run, [&] {
      const int few = std::min(run.measured.accumulation, few_micro_batches);
      const ResolvedExperiment& its = resolved(run, *run.machine, few);
      const bool is_ideal =
          software.table.empty() || its.stack.slowdown.source.empty();  // by a rule of the run
      return Change{.slowdown = is_ideal ? OpSlowdown{} : slowdown_of(software, its), .equal_gpus = is_ideal};
    });
  }

  Prediction fitted(const SeriesTarget& target, const std::vector<const PublishedRun*>& to) {
    Prediction prediction;
    std::vector<double> scales;
    for (const PublishedRun* one : to) {
      std::optional<double> scale;
      if (const std::string reason = reason_against([&] { scale = scale_of(*one, *target.run->machine); });
          !reason.empty()) {
        prediction.reason = "the run that is fitted to: " + reason;
        return prediction;
      }
      if (!scale) {
        prediction.reason = "no compute_scale matches the run that is fitted to";
        return prediction;
      }
      scales.push_back(*scale);
    }
    return changed(*target.run, [&] { return Change{.scale = geometric_mean(scales)}; });
  }

  /// The scale at which the run on this machine is as fast as published.
  std::optional<double> scale_of(const PublishedRun& run, const MachineRule& machine) {
    const auto key = std::pair(run.row, &machine);
    const auto known = scales_.find(key);
    if (known != scales_.end()) return known->second;
    const auto time_of = [&](double scale) { return 1 / throughput(run, machine, {.scale = scale}); };
    return scales_[key] = solve_scale(1 / measured(run, machine), time_of);
  }

  const config::Catalogue& catalogue_;
  InputFiles files_;  ///< shared by the runs of a series
  const PredictionOptions& options_;
  std::map<std::tuple<const PublishedRow*, const MachineRule*, int>, ResolvedExperiment> inputs_;
  std::map<std::pair<const PublishedRow*, const MachineRule*>, std::optional<double>> scales_;
  std::optional<Software> software_;  ///< fitted without the series
};

}  // namespace

std::vector<PredictedRun> predict_series(const config::Catalogue& catalogue,
                                         const std::vector<SeriesTarget>& targets,
                                         const PredictionOptions& options) {
  Series series(catalogue, options);
  std::vector<PredictedRun> predicted;
  predicted.reserve(targets.size());
  for (const SeriesTarget& target : targets) predicted.push_back(series.predict(target));
  return predicted;
}

std::vector<std::optional<KernelTimes>> kernel_times_of(const config::Catalogue& catalogue,
                                                        std::span<const PublishedRun> runs) {
  const PredictionOptions nothing_changed;
  Series series(catalogue, nothing_changed);
  std::vector<std::optional<KernelTimes>> times(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    reason_against([&] { times[i] = series.kernel_times(runs[i]); });
  return times;
}

OneRun solve_one_run(const config::Catalogue& catalogue, const PublishedRun& run) {
  const PredictionOptions nothing_changed;
  return Series(catalogue, nothing_changed).solve(run);
}

std::optional<double> solve_scale(double wanted, const std::function<double(double)>& value_of) {
  constexpr double least = 1.0 / 20;
  constexpr double most = 20;
  constexpr double enough = 1e-9;
  constexpr double as_good_as = 1e-6;
  double low = least;
  double high = most;
  double scale = 1;
  double at_last = value_of(scale);
  std::optional<std::pair<double, double>> before;  // a scale and its value
  for (int i = 0; i < 60 && std::abs(at_last / wanted - 1) > enough; ++i) {
    (at_last < wanted ? low : high) = scale;
    // linear interpolation through the last two points; proportional at first
    double next = scale * wanted / at_last;
    if (before && before->second != at_last)
      next = scale + (wanted - at_last) * (before->first - scale) / (before->second - at_last);
    if (next <= low || next >= high) next = (low + high) / 2;
    before = {scale, at_last};
    scale = next;
    at_last = value_of(scale);
    if (high - low < enough * low) break;
  }
  if (std::abs(at_last / wanted - 1) <= as_good_as) return scale;
  // If the value jumps over the wanted one (a framework's ticks), the scale at the jump is the best possible.
  constexpr double of_a_jump = 0.05;
  const bool is_at_jump = low > least && high < most && high - low < as_good_as * low;
  if (!is_at_jump || std::abs(at_last / wanted - 1) > of_a_jump) return std::nullopt;
  return scale;
}

}  // namespace trainyard
