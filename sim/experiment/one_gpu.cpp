#include "experiment/one_gpu.hpp"

#include "experiment/data_loading.hpp"
#include "experiment/op_times.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace trainyard {

namespace {

/// Relative error of sums.
constexpr double rounding = 1e-9;

bool runs_alone(const Op& op, const Sync& sync) {
  if (op.role == OpRole::ranks_overhead) return false;
  return !has_servers(sync) || op.phase != Phase::optimizer || op.kind == OpKind::host;
}

/// All ops of one GPU's step, with the kernel times multiplied by `scale`.
Seconds ops_of_step(const ResolvedExperiment& resolved, double scale) {
  Stack stack = resolved.stack;
  stack.compute_scale.value *= scale;
  stack.slowest_gpu = 1;
  const Trace& trace = only_class(resolved).trace;
  const std::vector<OpTime> times = op_times(trace, resolved.gpu, stack);
  Seconds sum;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (runs_alone(trace.ops[i], resolved.settings.sync)) sum += times[i].duration;
  }
  return sum;
}

double samples_of_step(const ResolvedExperiment& resolved) {
  return static_cast<double>(resolved.settings.batch_per_gpu) * resolved.settings.accumulation;
}

/// "3,000 samples/s" for a time of a step.
std::string rate_in_words(const ResolvedExperiment& resolved, Seconds step) {
  return shortest(four_digits(samples_of_step(resolved) / step.si())) + " samples/s";
}

constexpr const char* check_rate =
    "check that it is the rate of one GPU with this model, stack, precision and batch_per_gpu";

/// The time that the ops have to take so that a step with its samples takes `step`. Throws InputError if the
/// samples alone take longer.
Seconds without_input(const ResolvedExperiment& resolved, Seconds step) {
  const InputSettings& settings = resolved.settings.input;
  const std::optional<DataLoading> input = data_loading(resolved, 1, 1);
  if (!input) return step;
  const Seconds most = is_prefetched(settings) ? step * (1 + rounding) : step;
  if (input->time >= most) {
    throw InputError(
        fmt::format("one {} cannot do {}: a node prepares at most {} for it (limit: {})", resolved.gpu.name,
                    *resolved.settings.one_gpu, rate_in_words(resolved, input->time), name_of(input->limit)),
        "data: synthetic, if the measurement read no samples, or check the rate");
  }
  return is_prefetched(settings) ? std::max(step, input->time) - input->taken : step - input->time;
}

double solved_scale(const ResolvedExperiment& resolved) {
  const Known<double> measured = measured_on_one_gpu(resolved);
  if (!measured) throw InputError(measured.error(), "give the rate in samples/s");
  const Seconds wanted{samples_of_step(resolved) / *measured};
  // While samples limit the step, many factors give the same rate: none is needed.
  if (std::abs(one_rank_step(resolved) / wanted - 1) <= rounding) return 1;
  const Seconds ops = without_input(resolved, wanted);
  const Seconds rest = ops_of_step(resolved, 0);
  const Seconds kernels = ops_of_step(resolved, 1) - rest;
  if (kernels <= Seconds{}) {
    throw InputError("one_gpu scales kernels, but the trace states the time of every op",
                     "leave duration_s of the trace empty, or leave out 'one_gpu'");
  }
  if (ops <= rest) {
    throw InputError(
        fmt::format(
            "one {} cannot do {}: even if kernels took no time it would do {}, because of times that "
            "are not scaled ({} per step: overheads of the stack, times stated in a trace)",
            resolved.gpu.name, *resolved.settings.one_gpu,
            rate_in_words(resolved, with_input(rest, data_loading(resolved, 1, 1), resolved.settings.input)),
            estimate(rest)),
        check_rate);
  }
  const double scale = (ops - rest) / kernels;
  if (scale > most_one_gpu_scale || scale < 1 / most_one_gpu_scale) {
    const bool is_slow = scale > 1;
    throw InputError(
        fmt::format("to do {}, one {} would need kernels {:.3g} times as {} as modelled, beyond the limit of "
                    "{} (modelled: {})",
                    *resolved.settings.one_gpu, resolved.gpu.name, is_slow ? scale : 1 / scale,
                    is_slow ? "slow" : "fast", most_one_gpu_scale,
                    rate_in_words(resolved, one_rank_step(resolved))),
        check_rate);
  }
  return scale;
}

/// One GPU of a changed copy, which keeps the factor, is not as fast as measured.
std::string note_on(const ResolvedExperiment& resolved) {
  const Known<double> measured = measured_on_one_gpu(resolved);
  const Seconds step = one_rank_step(resolved);
  const std::string factor = fmt::format("{:.3g}", *resolved.settings.one_gpu_scale);
  if (measured && std::abs(samples_of_step(resolved) / step.si() / *measured - 1) <= rounding) {
    return fmt::format("one_gpu: all kernel times are multiplied by {}, so that one GPU does {} as measured",
                       factor, *resolved.settings.one_gpu);
  }
  return fmt::format(
      "one_gpu: all kernel times are multiplied by {}, which was solved for {} with other settings; with "
      "these one GPU does {}",
      factor, *resolved.settings.one_gpu, rate_in_words(resolved, step));
}

}  // namespace

Seconds one_rank_step(const ResolvedExperiment& resolved) {
  return with_input(ops_of_step(resolved, 1), data_loading(resolved, 1, 1), resolved.settings.input);
}

Known<double> measured_on_one_gpu(const ResolvedExperiment& resolved) {
  const SampleRate rate = parse_sample_rate(*resolved.settings.one_gpu).value();
  if (!rate.is_of_tokens) return rate.per_second;
  if (!resolved.model) return unknown("a trace does not state the tokens of a sample");
  if (!resolved.model->sequence_length) return unknown(resolved.model->name + " does not read tokens");
  return rate.per_second / *resolved.model->sequence_length;
}

void scale_to_one_gpu(ResolvedExperiment& resolved) {
  std::optional<double>& scale = resolved.settings.one_gpu_scale;
  if (!scale) scale = solved_scale(resolved);
  resolved.stack.compute_scale.value *= *scale;
  resolved.notes.push_back(note_on(resolved));
}

std::string one_gpu_in_words(const Experiment& experiment) {
  if (!experiment.one_gpu) return {};
  return fmt::format("one GPU measured: {}; kernels x {:.3g}", *experiment.one_gpu,
                     experiment.one_gpu_scale.value_or(1));
}

bool has_one_gpu(const config::Catalogue& catalogue, const std::string& experiment,
                 const Overrides& overrides, InputFiles& files) {
  if (std::ranges::find(overrides, "one_gpu", &Overrides::value_type::first) != overrides.end()) return true;
  try {
    return experiment_document(catalogue, experiment, files).root.find("one_gpu") != nullptr;
  } catch (const InputError&) {  // said when the experiment is read
    return false;
  } catch (const FileError&) {
    return false;
  }
}

Overrides kept_one_gpu(const ResolvedExperiment& resolved) {
  if (!resolved.settings.one_gpu) return {};
  return {{"one_gpu", *resolved.settings.one_gpu},
          {"one_gpu_scale", shortest(*resolved.settings.one_gpu_scale)}};
}

}  // namespace trainyard
