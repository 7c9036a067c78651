#include "experiment/prediction_error.hpp"

#include "accuracy/replay_error.hpp"
#include "compute/op_time.hpp"
#include "config/keys.hpp"
#include "config/read_file.hpp"
#include "config/same_gpu.hpp"
#include "experiment/software_use.hpp"
#include "workload/accumulate.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

namespace trainyard {
namespace {

constexpr const char* is_a_trace = "a trace names no model to compare with published runs";
constexpr const char* is_partly_measured =
    "a trace names no model to compare with published runs, and not all of its times were measured";
constexpr const char* is_of_unknown_gpu =
    "the trace does not name the GPU on which its times were measured ('# gpu:')";
constexpr const char* is_of_shared_traces =
    "no step whose ranks replay traces of their own or share a model was measured and replayed";
constexpr const char* is_on_processors = "the published runs on processors are too few for pairs";
constexpr const char* is_on_other_processors =
    "no published run on this machine has a known error, and errors on accelerators do not carry over";
constexpr const char* is_over_hosts = "published runs with known errors exist for NCCL only";
constexpr const char* is_a_layout =
    "ranks share a model: pairs of published runs of that kind are too few for an interval";

/// The layout's properties that decide which runs are comparable.
std::optional<LayoutUse> layout_use(const ResolvedExperiment& resolved) {
  if (!has_layout_errors(resolved)) return std::nullopt;
  const RankLayout& layout = *resolved.layout;
  const Model& model = *resolved.model;
  const bool shards = std::ranges::any_of(layout.state_shards,
                                          [](const auto& shards_along) { return shards_along.second > 1; });
  return LayoutUse{
      .tensor = layout.grid.tensor,
      .context = layout.grid.context,
      .pipeline = layout.grid.pipeline,
      .virtual_stages = layout.parallelism.virtual_stages,
      .expert = layout.grid.expert,
      .micro_batches = layout.micro_batches,
      .tokens = resolved.settings.batch_per_gpu * model.sequence_length.value_or(1),
      .parameters = totals(model.layers).parameters,
      .has_experts = std::ranges::any_of(model.layers, [](const Layer& layer) { return layer.experts > 0; }),
      .schedule = std::string(config::name_of(layout.schedule)),
      .recompute = std::string(config::name_of(layout.parallelism.recompute)),
      .sharded = std::string(config::name_of(shards ? layout.parallelism.shard : Sharded::none))};
}

/// Why no published run is comparable to a layout; empty if some are.
std::string_view incomparable(const ResolvedExperiment& resolved) {
  if (!resolved.layout->parallelism.layers.empty())
    return "no published run has layers that replicas divide and shares its model in another way too";
  if (!resolved.model->sequence_length)
    return "all published runs whose ranks share a model train models that read sequences";
  return {};
}

/// No factor of the software changes a recorded duration, so that of scaled ones has the errors of kernels
/// alone.
std::string_view software_fit(const ResolvedExperiment& resolved) {
  return resolved.scaled_from || resolved.stack.slowdown.source.empty() ? no_fit : "software";
}

/// A scaled time has the errors of two predictions, of the machine's GPU and of the recording one, taken as
/// equal and independent. Which way one is off says nothing of their ratio, in which a common bias cancels:
/// the larger error counts on both sides.
ExpectedError of_two_profiles(const ExpectedError& of_one) {
  ExpectedError symmetric = either_way(of_one);
  symmetric.is_either_way = of_one.is_either_way;
  symmetric.low = std::pow(1 + symmetric.low, std::numbers::sqrt2) - 1;
  symmetric.high = std::pow(1 + symmetric.high, std::numbers::sqrt2) - 1;
  return symmetric;
}

/// The mean duration of an op of a forward and backward pass of the first rank, kernels alone. It is the same
/// for any number of micro-batches, to its six digits.
Seconds mean_op(const ResolvedExperiment& resolved) {
  double sum = 0;
  double ops = 0;
  for (const Op& op : resolved.classes.front().trace.ops) {
    if (op.phase == Phase::optimizer || is_gradient_addition(op)) continue;
    const Seconds time =
        op.duration ? *op.duration
                    : op_time(resolved.gpu, resolved.settings.precision, op, resolved.stack.layout).duration;
    sum += time.si();
    ++ops;
  }
  return Seconds{ops > 0 ? std::stod(fmt::format("{:.6g}", sum / ops)) : 0};
}

}  // namespace

std::string_view fit_of(const ResolvedExperiment& resolved) {
  return resolved.settings.one_gpu ? one_gpu_fit : software_fit(resolved);
}

Circumstances circumstances_of(const ResolvedExperiment& resolved) {
  return {.use = software_use(resolved),
          .platform = resolved.platform.name,
          .gpus = resolved.cluster->ranks(),
          .nodes = resolved.cluster->nodes,
          .batch_per_gpu = resolved.settings.batch_per_gpu,
          .layout = layout_use(resolved),
          .divides_layers = divides_layers_alone(resolved) && resolved.cluster->ranks() > 1,
          .has_fp8 = is_narrow(resolved.settings.precision),
          .kind = resolved.model ? kind_of(resolved.model->layers) : resolved.trace_kind,
          .has_recorded_kernels = resolved.gpu.vector_kernels.has_value(),
          .mean_op = mean_op(resolved)};
}

bool has_layout_errors(const ResolvedExperiment& resolved) {
  return resolved.layout && resolved.model && !divides_layers_alone(resolved);
}

std::filesystem::path published_errors_file(const config::Catalogue& catalogue, std::string_view fit,
                                            bool of_layouts) {
  return config::shipped_file(
      catalogue, fmt::format("workloads/published/errors/{}{}.csv", of_layouts ? layouts_prefix : "", fit));
}

namespace {

/// With kernel times fitted to a measurement of one GPU, what is new about them matters little.
void add_new_circumstances(const config::Catalogue& catalogue, PublishedErrors& errors, InputFiles& files) {
  const std::filesystem::path path =
      config::shipped_file(catalogue, "workloads/published/errors/new_circumstances.csv");
  if (path.empty()) return;
  files.paths.insert(path.string());
  errors.new_circumstances = read_new_circumstances(path.string(), config::read_file(path, largest_csv));
}

}  // namespace

std::shared_ptr<const PublishedErrors> known_errors(const config::Catalogue& catalogue, std::string_view fit,
                                                    bool of_layouts, InputFiles& files) {
  const std::filesystem::path path = published_errors_file(catalogue, fit, of_layouts);
  if (path.empty()) return nullptr;
  files.paths.insert(path.string());
  std::shared_ptr<const PublishedErrors>& known = files.published_errors[path.string()];
  if (!known) {
    PublishedErrors errors = read_published_errors(path.string(), config::read_file(path, largest_csv));
    if (fit != one_gpu_fit) add_new_circumstances(catalogue, errors, files);
    keep_expected_errors(errors);
    known = std::make_shared<const PublishedErrors>(std::move(errors));
  }
  return known;
}

Known<PredictedJob> predicted_job(const ResolvedExperiment& resolved) {
  if (!resolved.model) return unknown(is_a_trace);
  if (resolved.platform.ranks_on_processors) return unknown(is_on_processors);
  if (is_of_hosts(resolved.library.library)) return unknown(is_over_hosts);
  if (resolved.layout) return unknown(is_a_layout);
  return PredictedJob{.of = circumstances_of(resolved),
                      .fit = std::string(fit_of(resolved)),
                      .software_fit = std::string(software_fit(resolved))};
}

namespace {

bool is_measured(const Op& op) {
  return op.duration && op.source.value_or(ComputeSource::measured) == ComputeSource::measured;
}

/// The error of a replay of a trace with the durations that it states.
Known<ExpectedError> error_of_replay(const ResolvedExperiment& resolved) {
  if (resolved.platform.ranks_on_processors) return unknown(is_on_other_processors);
  if (shares_model(resolved)) return unknown(is_of_shared_traces);
  const Trace& trace = resolved.classes.front().trace;
  if (!std::ranges::all_of(trace.ops, is_measured)) return unknown(is_partly_measured);
  if (trace.gpu.empty()) return unknown(is_of_unknown_gpu);
  if (!config::is_same_gpu(trace.gpu, resolved.gpu.name))
    return unknown(fmt::format("times were measured on {}, and 'trace_times: scaled' is not set", trace.gpu));
  const auto expected = replay_error(resolved.published_errors.get(), circumstances_of(resolved));
  return expected ? Known<ExpectedError>(*expected) : unknown("too few published pairs of runs");
}

}  // namespace

Known<ExpectedError> prediction_error(const ResolvedExperiment& resolved) {
  const bool is_replay = !resolved.model && !resolved.scaled_from;
  const bool on_processors = resolved.platform.ranks_on_processors;
  if (!on_processors && is_of_hosts(resolved.library.library)) return unknown(is_over_hosts);
  if (is_replay) return error_of_replay(resolved);
  if (resolved.layout && !divides_layers_alone(resolved)) {
    if (const std::string_view reason = incomparable(resolved); !reason.empty())
      return unknown(std::string(reason));
  }
  if (!resolved.published_errors) return unknown("no errors of published runs are installed for this fit");
  const auto expected = expected_error(*resolved.published_errors, circumstances_of(resolved));
  if (!expected) return unknown(on_processors ? is_on_other_processors : "too few published runs");
  const ExpectedError error = resolved.scaled_from ? of_two_profiles(*expected) : *expected;
  return resolved.settings.hypothesis ? either_way(error) : error;
}

}  // namespace trainyard
