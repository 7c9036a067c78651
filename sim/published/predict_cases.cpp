#include "published/predict_cases.hpp"

#include "accuracy/published_errors.hpp"
#include "collectives/operation.hpp"
#include "compute/op_time.hpp"
#include "experiment/collective_errors.hpp"
#include "experiment/experiment.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/software_use.hpp"
#include "published/case_figures.hpp"
#include "published/changed_stack.hpp"
#include "published/child_json.hpp"
#include "published/solve_scale.hpp"
#include "published/validate.hpp"
#include "run/child_processes.hpp"
#include "run/closed_steps.hpp"
#include "run/job_phases.hpp"
#include "run/simulate.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace trainyard {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Prediction, value, compute_scale, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseMemory, state, activations, allocated, in_use, available, gpu, fits)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ErrorBounds, low, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PredictedEnd, value, bounds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PredictedCase, measured, by_fit, bounds, ends, without_ends, of, linear,
                                   memory)

namespace {

// Runs with servers consist of many updates, which are all alike.
constexpr StepCounts few_steps{.warmup = 2, .measured = 2, .repeats = 1};

// From this number on, a step without a layout grows by the same time with every further micro-batch.
constexpr int few_micro_batches = 3;

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

/// "platform.fabric.latency": as in --set.
std::string path_of(const FileChange& change) {
  const bool is_gpu = change.kind == config::Kind::gpu;
  return (is_gpu ? std::string("gpu") : std::string(config::word_of(change.kind))) + "." + change.key;
}

/// An experiment and the plan of its step.
struct Kept {
  explicit Kept(ResolvedExperiment read) : resolved(std::move(read)), steps(resolved) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  ResolvedExperiment resolved;
  ClosedSteps steps;
};

/// The cases of one series, read and simulated on demand.
class Series {
public:
  Series(const config::Catalogue& catalogue, const PredictionOptions& options)
      : catalogue_(catalogue), options_(options) {
    files_.wants_published_errors = false;
  }

  PredictedCase predict(const AskedCase& asked) {
    if (is_full()) forget();
    PredictedCase predicted;
    const Case& of = *asked.of;
    if (of.figure == CaseFigure::samples_to_target) {
      predicted.measured = of.measured;
      for (const Fit fit : {Fit::nothing, Fit::software, Fit::one_system})
        predicted.by_fit[fit].value = of.target->samples;
      return predicted;
    }
    files_.wants_published_errors = is_to_target(of.figure);  // for the bounds
    const std::string reason = reason_against([&] { read(of, asked, predicted); });
    if (!reason.empty()) {
      predicted.measured.reset();
      for (Prediction& prediction : predicted.by_fit.values) prediction.reason = reason;
      return predicted;
    }
    for (Prediction& prediction : predicted.by_fit.values) prediction.reason = "not requested";
    for (const Fit fit : options_.fits) {
      if (is_memory(of.figure))
        predicted.by_fit[fit] = {.value = figure_of(*predicted.memory, of.figure)};
      else if (fit == Fit::nothing)
        predicted.by_fit[fit] = changed(of, [] { return StackChange{.factors = StackFactors::none}; });
      else if (fit == Fit::software && !options_.software && is_of_software_fit(of))
        predicted.by_fit[fit].reason = "no published one-GPU run to fit software to";
      else if (fit == Fit::software)
        predicted.by_fit[fit] = changed(of, [&] {
          return StackChange{.factors = is_of_software_fit(of) ? StackFactors::fitted_without
                                                               : StackFactors::shipped};
        });
      else if (!asked.references[fit].empty())
        predicted.by_fit[fit] = fitted(of, asked.references[fit]);
    }
    if (!predicted.by_fit[Fit::software].value) return predicted;
    if (is_to_target(of.figure)) predicted.bounds = target_bounds(of);
    if (of.experiment) add_ends(of, predicted);
    return predicted;
  }

  KernelTimes kernel_times(const Case& run) {
    KernelTimes times{.row = run.row, .series = run.series, .rounding = run.rounding};
    const int few = std::min(run.micro_batches, few_micro_batches);
    add_kernels(resolved(run, run.machine, few), 1, times);
    if (run.micro_batches > few) {  // each further micro-batch adds the same
      add_kernels(resolved(run, run.machine, few), run.micro_batches - few, times);
      add_kernels(resolved(run, run.machine, few - 1), few - run.micro_batches, times);
    }
    times.of = circumstances_of(resolved(run, run.machine, few));
    times.measured = run.batch() / measured(run, run.machine);
    times.rest = run.batch() / throughput(run, run.machine, {.factors = StackFactors::none});
    for (const double kernels : times.kernels.values) times.rest -= kernels;
    return times;
  }

  OneRun solve(const Case& run) {
    return {.measured = measured(run, run.machine),
            .predicted = throughput(run, run.machine, {}),
            .scale = scale_of(run, run.machine)};
  }

private:
  /// All that needs the experiment and no fit.
  void read(const Case& of, const AskedCase& asked, PredictedCase& predicted) {
    ResolvedExperiment& experiment = resolved(of, of.machine, few_of(of));
    check_ranks(of, experiment);
    predicted.measured = measured(of, of.machine);
    if (!std::isfinite(*predicted.measured) || (*predicted.measured <= 0 && !is_memory(of.figure)))
      throw InputError("the published figure is too large or too small");
    if (!of.experiment) {
      predicted.of = circumstances_of(experiment);
      std::string left_out = property_of(options_.left_out, *predicted.of, of.row->source, of.series);
      if (left_out != left_out_) throughputs_.clear();
      left_out_ = std::move(left_out);
    }
    if (of.layout || of.experiment || is_memory(of.figure)) {
      const std::string reason = reason_against([&] { predicted.memory = memory_of(experiment); });
      if (!predicted.memory && is_memory(of.figure)) throw InputError(reason);
    }
    for (const Fit fit : {Fit::one_gpu, Fit::one_node})
      predicted.linear[fit] = linear(of, asked.references[fit]);
  }

  /// An experiment that a row names may be another one than the row describes.
  static void check_ranks(const Case& of, const ResolvedExperiment& experiment) {
    if (of.experiment && of.row->gpus_total > 0 && of.row->gpus_total != experiment.cluster->ranks())
      throw InputError("the experiment has another number of GPUs than its row");
  }

  /// All of a row with an experiment but its prediction.
  void add_ends(const Case& of, PredictedCase& predicted) {
    predicted.bounds = bounds(of);
    predicted.without_ends = reason_against([&] {
      for (const Overrides& end : of.experiment->ends) {
        Case there = of;
        there.experiment->set = end;
        check_ranks(there, resolved(there, nullptr, of.micro_batches));
        const double value = is_memory(of.figure)
                                 ? figure_of(memory_of(resolved(there, nullptr, of.micro_batches)), of.figure)
                                 : this->value(there, {});
        const double measured_there = finite(measured(there, nullptr));
        predicted.ends.push_back(
            {.value = is_memory(of.figure) ? value : value / measured_there * *predicted.measured,
             .bounds = bounds(there)});
      }
    });
    if (!predicted.without_ends.empty()) predicted.ends.clear();
  }

  std::optional<ErrorBounds> bounds(const Case& of) {
    const ResolvedExperiment& experiment = resolved(of, of.machine, of.micro_batches);
    if (of.figure == CaseFigure::bus_bandwidth) return bandwidth_bounds(catalogue_, experiment);
    if (is_memory(of.figure) && !is_verdict(of.figure)) return memory_bounds;
    if (of.figure != CaseFigure::throughput) return std::nullopt;
    const Known<ExpectedError> error = prediction_error(experiment);
    return error ? std::optional(bounds_of(*error)) : std::nullopt;
  }

  /// The bounds of a time to train, or of a figure in proportion to it.
  std::optional<ErrorBounds> target_bounds(const Case& of) {
    const Known<ExpectedError> speed = prediction_error(resolved(of, of.machine, of.micro_batches));
    if (!speed) return std::nullopt;
    const CaseTarget& target = *of.target;
    ErrorBounds samples;
    if (target.high > 0)
      samples = {.low = target.low / target.samples - 1, .high = target.high / target.samples - 1};
    const ErrorBounds time = job_time_bounds(samples, bounds_of(*speed));
    return of.figure == CaseFigure::energy_to_train ? energy_bounds(time) : time;
  }

  /// Whether software may have been fitted to cases of the same series.
  static bool is_of_software_fit(const Case& of) {
    return !of.layout && !of.experiment && !is_to_target(of.figure);
  }

  /// Whether each further micro-batch of a step adds the same time, so that few of them are simulated.
  static bool adds_up(const Case& of) { return !of.layout && !of.experiment; }

  /// The fit to the runs that do not have the case's property which is left out.
  const Software& software_without_case() {
    const auto found = software_.find(left_out_);
    if (found != software_.end()) return found->second;
    return software_.emplace(left_out_, options_.software->without(options_.left_out, left_out_))
        .first->second;
  }

  static void add_kernels(const ResolvedExperiment& of, double times, KernelTimes& sum) {
    for (const Op& op : only_class(of).trace.ops) {
      if (op.duration) continue;  // given: no factor changes it
      const Seconds kernel = op_time(of.gpu, of.settings.precision, op, of.stack.layout).duration;
      sum.kernels[group_of(op.kind)] += times * kernel.si();
      sum.ops += times;
    }
  }

  static int few_of(const Case& of) {
    return adds_up(of) && of.figure == CaseFigure::throughput ? std::min(of.micro_batches, few_micro_batches)
                                                              : of.micro_batches;
  }

  /// The case with this number of micro-batches per step.
  Kept& kept(const Case& of, const MachineRule* machine, int micro_batches) {
    Case few = of;
    few.micro_batches = micro_batches;
    std::string key = identity_of(few, machine);
    const auto known = kept_.find(key);
    if (known != kept_.end()) return *known->second;
    ResolvedExperiment read = inputs_of(catalogue_, few, machine, files_);
    if (const Overrides changed = changes_of(read, of); !changed.empty())
      read = inputs_of(catalogue_, few, machine, files_, changed);
    if (!of.layout && !of.experiment) read.settings.steps = few_steps;
    return *kept_.emplace(std::move(key), std::make_unique<Kept>(std::move(read))).first->second;
  }

  ResolvedExperiment& resolved(const Case& of, const MachineRule* machine, int micro_batches) {
    return kept(of, machine, micro_batches).resolved;
  }

  /// The changes among the options that apply to files of the case.
  [[nodiscard]] Overrides changes_of(const ResolvedExperiment& read, const Case& of) const {
    Overrides changes;
    for (const FileChange& change : options_.changes) {
      const bool is_used = (change.kind == config::Kind::platform && change.name == read.platform.name) ||
                           (change.kind == config::Kind::gpu && change.name == read.gpu.name) ||
                           (change.kind == config::Kind::stack && change.name == of.stack_name()) ||
                           (change.kind == config::Kind::model && change.name == of.model_name());
      if (is_used) changes.emplace_back(path_of(change), change.value);
    }
    return changes;
  }

  /// As published, in the figure's unit.
  double measured(const Case& run, const MachineRule* machine) {
    if (run.stated == StatedSpeed::samples) return run.measured;
    const int micro_batches = run.stated == StatedSpeed::epoch_time ? 1 : run.micro_batches;
    return samples_per_second(run.stated, run.measured, resolved(run, machine, micro_batches));
  }

  std::optional<double> linear(const Case& run, const std::vector<const Case*>& from) {
    if (from.empty()) return std::nullopt;
    std::vector<double> per_gpu;
    for (const Case* one : from) per_gpu.push_back(measured(*one, run.machine) / one->row->gpus_total);
    return geometric_mean(per_gpu) * run.row->gpus_total;
  }

  void change_stack(Stack& stack, const ResolvedExperiment& experiment, const StackChange& change) {
    stack.compute_scale.value *= change.scale;
    StackFactors factors = change.factors;
    const bool is_ideal = stack.slowdown.source.empty();  // by a rule of the run
    if (factors == StackFactors::fitted_without && (is_ideal || software_without_case().table.empty()))
      factors = StackFactors::none;
    if (factors == StackFactors::none) stack.slowdown = OpSlowdown{};
    if (factors == StackFactors::fitted_without)
      stack.slowdown = slowdown_of(software_without_case(), experiment);
    // with kernels alone a step waits for its slowest GPU only if a rule of the run says so
    if ((factors == StackFactors::none && !is_ideal) || options_.equal_gpus) stack.slowest_gpu = 1;
  }

  double throughput(const Case& of, const MachineRule* machine, const StackChange& change) {
    if (!adds_up(of) || of.micro_batches <= few_micro_batches)
      return throughput(of, machine, change, of.micro_batches);
    const auto time_of = [&](int few) { return few / throughput(of, machine, change, few); };
    const double last = time_of(few_micro_batches);
    const double each = last - time_of(few_micro_batches - 1);
    return of.micro_batches / (last + (of.micro_batches - few_micro_batches) * each);
  }

  double throughput(const Case& of, const MachineRule* machine, const StackChange& change,
                    int micro_batches) {
    Kept& simulated = kept(of, machine, micro_batches);
    const auto key = std::tuple(&simulated, change.factors, change.scale);
    if (const auto known = throughputs_.find(key); known != throughputs_.end()) return known->second;
    const ChangedStack stack(simulated.resolved);
    change_stack(simulated.resolved.stack, simulated.resolved, change);
    return throughputs_[key] = throughput(simulated, change);
  }

  /// Checked for all that must hold for every run, if the step is one that `run` would simulate.
  static double throughput(Kept& simulated, const StackChange& change) {
    if (is_multi_update(simulated.resolved.settings))
      return simulate(simulated.resolved, {.timeline = false, .rows = false}).pace.throughput;
    const bool is_checked = change.scale == 1 && change.factors == StackFactors::shipped;
    return (is_checked ? simulated.steps.checked_pace() : simulated.steps.pace()).throughput;
  }

  static double finite(double figure) {
    if (!std::isfinite(figure)) throw InputError("a figure is too large");
    return figure;
  }

  /// The figure with a change.
  double value(const Case& of, const StackChange& change) {
    if (of.figure == CaseFigure::throughput) return throughput(of, of.machine, change);
    if (of.figure == CaseFigure::bus_bandwidth) return bus_bandwidth(of, change);
    if (of.figure == CaseFigure::energy_to_train) return energy_to_train(of, change);
    const double time = time_to_train(of, of.machine, change);
    return of.figure == CaseFigure::time_to_train ? time : cost(of, time);
  }

  /// In bytes per second: the step is the collective.
  double bus_bandwidth(const Case& of, const StackChange& change) {
    const ResolvedExperiment& experiment = resolved(of, of.machine, of.micro_batches);
    const OpCommunication& collective = only_collective(experiment);
    const double samples =
        1.0 * experiment.settings.batch_per_gpu * experiment.settings.accumulation * replicas(experiment);
    const Seconds step{samples / throughput(of, of.machine, change)};
    return busbw(collective.operation, experiment.cluster->ranks(), collective.size, step).si();
  }

  /// In USD.
  double cost(const Case& of, double seconds) {
    const Known<double> rent =
        rent_per_hour(resolved(of, of.machine, of.micro_batches).platform, of.row->nodes);
    if (!rent) throw InputError(rent.error());
    constexpr double hour = 3600;
    return *rent * seconds / hour;
  }

  double time_to_train(const Case& of, const MachineRule* machine, const StackChange& change) {
    Kept& simulated = kept(of, machine, of.micro_batches);
    const double speed = throughput(of, machine, change, of.micro_batches);
    const auto key = std::tuple(&simulated, of.target->evaluated, change.factors, change.scale);
    auto evaluation = evaluations_.find(key);
    if (evaluation == evaluations_.end()) {
      const ChangedStack stack(simulated.resolved);
      change_stack(simulated.resolved.stack, simulated.resolved, change);
      evaluation = evaluations_.emplace(key, evaluation_of(of, simulated.resolved).time.si()).first;
    }
    return of.target->samples / speed + of.target->evaluations * evaluation->second;
  }

  double energy_to_train(const Case& of, const StackChange& change) {
    ResolvedExperiment& experiment = resolved(of, of.machine, of.micro_batches);
    const ChangedStack stack(experiment);
    change_stack(experiment.stack, experiment, change);
    const ForwardPass evaluated = evaluation_of(of, experiment);
    const Run simulated =
        simulate(experiment, {.fidelity = Fidelity::closed, .timeline = false, .rows = false});
    if (!simulated.energy) throw InputError(simulated.energy.error());
    return of.target->samples / simulated.pace.throughput * simulated.energy->average.si() +
           of.target->evaluations * evaluated.energy.si();
  }

  /// One evaluation: whole batches of training's size.
  static ForwardPass evaluation_of(const Case& of, const ResolvedExperiment& resolved) {
    if (of.target->evaluated == 0) return {};
    const double of_rank = std::ceil(1.0 * of.target->evaluated / of.row->gpus_total);
    const int batch = static_cast<int>(std::min<double>(of.batch_per_gpu, of_rank));
    const double passes = std::ceil(of_rank / batch);
    ForwardPass pass = forward_pass(resolved, batch);
    pass.time = passes * pass.time;
    pass.energy = passes * pass.energy;
    return pass;
  }

  Prediction changed(const Case& of, const std::function<StackChange()>& change_of) {
    Prediction prediction;
    prediction.reason = reason_against([&] {
      const StackChange change = change_of();
      prediction.compute_scale = change.scale;
      prediction.value = finite(value(of, change));
    });
    return prediction;
  }

  Prediction fitted(const Case& of, const std::vector<const Case*>& references) {
    std::vector<double> scales;
    std::string first_reason;
    for (const Case* reference : references) {
      std::optional<double> scale;
      std::string reason = reason_against([&] { scale = scale_of(*reference, of.machine); });
      if (scale)
        scales.push_back(std::log(*scale));
      else if (first_reason.empty())
        first_reason = reason.empty() ? "no factor on kernel times matches the run that is fitted to"
                                      : "the run that is fitted to: " + reason;
    }
    if (scales.empty()) return {.reason = first_reason};
    return changed(of, [&] { return StackChange{.scale = std::exp(quantile(scales, 0.5))}; });
  }

  /// The scale at which the run on this machine is as fast as published.
  std::optional<double> scale_of(const Case& run, const MachineRule* machine) {
    const auto key = std::pair(&run, machine);
    const auto known = scales_.find(key);
    if (known != scales_.end()) return known->second;
    if (is_to_target(run.figure)) {
      return scales_[key] = solve_scale(
                 run.measured, [&](double scale) { return time_to_train(run, machine, {.scale = scale}); });
    }
    const auto time_of = [&](double scale) { return 1 / throughput(run, machine, {.scale = scale}); };
    return scales_[key] = solve_scale(1 / measured(run, machine), time_of);
  }

  /// Steps of thousands of micro-batches on a thousand GPUs have a million tasks.
  [[nodiscard]] bool is_full() const {
    constexpr std::size_t most_steps = 64;
    constexpr std::size_t most_tasks = 200'000;
    std::size_t tasks = 0;
    for (const auto& [identity, simulated] : kept_) tasks += simulated->steps.tasks();
    return kept_.size() > most_steps || tasks > most_tasks;
  }

  void forget() {
    throughputs_.clear();
    evaluations_.clear();
    kept_.clear();
  }

  const config::Catalogue& catalogue_;
  InputFiles files_;  ///< shared by the cases of a series
  const PredictionOptions& options_;
  std::map<std::string, std::unique_ptr<Kept>> kept_;  ///< by identity
  std::map<std::tuple<const Kept*, StackFactors, double>, double> throughputs_;
  std::map<std::tuple<const Kept*, int, StackFactors, double>, double> evaluations_;  ///< seconds
  std::map<std::pair<const Case*, const MachineRule*>, std::optional<double>> scales_;
  std::string left_out_;                      ///< the property of the case that is being predicted
  std::map<std::string, Software> software_;  ///< fitted without the runs of a property
};

}  // namespace

std::vector<PredictedCase> predict_cases(const config::Catalogue& catalogue,
                                         const std::vector<AskedCase>& asked, int parallel,
                                         const PredictionOptions& options) {
  std::map<std::string, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < asked.size(); ++i) by_series[asked[i].of->series].push_back(i);
  std::vector<std::vector<std::size_t>> jobs;
  for (auto& [series, cases] : by_series) jobs.push_back(std::move(cases));
  const std::vector<std::string> results = in_children(static_cast<int>(jobs.size()), parallel, [&](int job) {
    Series series(catalogue, options);
    nlohmann::json all = nlohmann::json::array();
    for (const std::size_t i : jobs[at(job)]) all.push_back(series.predict(asked[i]));
    return all.dump();
  });
  std::vector<PredictedCase> predicted(asked.size());
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const nlohmann::json all = nlohmann::json::parse(results[job]);
    for (std::size_t k = 0; k < jobs[job].size(); ++k) all[k].get_to(predicted[jobs[job][k]]);
  }
  return predicted;
}

std::vector<std::optional<KernelTimes>> kernel_times_of(const config::Catalogue& catalogue,
                                                        std::span<const Case> runs) {
  const PredictionOptions nothing_changed;
  Series series(catalogue, nothing_changed);
  std::vector<std::optional<KernelTimes>> times(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    reason_against([&] { times[i] = series.kernel_times(runs[i]); });
  return times;
}

OneRun solve_one_run(const config::Catalogue& catalogue, const Case& run) {
  const PredictionOptions nothing_changed;
  return Series(catalogue, nothing_changed).solve(run);
}

}  // namespace trainyard
