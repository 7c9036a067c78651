#include "experiment/setup.hpp"

#include "compute/op_time.hpp"
#include "config/read.hpp"
#include "config/read_file.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/input_pipeline.hpp"
#include "experiment/read_factors.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/stack_rules.hpp"
#include "platform/host_staging.hpp"
#include "platform/load.hpp"
#include "strategy/micro_batches.hpp"
#include "strategy/stack_ops.hpp"
#include "units/text.hpp"
#include "workload/accumulate.hpp"
#include "workload/csv.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

/// An override of a key of a file that the experiment names, and where it was written.
struct FileOverride {
  std::string value;
  std::optional<Diagnostic> written_at;  ///< none: on the command line
};
using FileOverrides = std::map<std::string, FileOverride>;

/// Those of the experiment's key `set` and of the command line, which wins.
FileOverrides file_overrides(const config::Document& document, const Experiment& experiment,
                             const Overrides& command_line) {
  FileOverrides all;
  for (const auto& [key, value] : experiment.set) {
    const config::Node& node = document.nearest(config::join("set", key));
    all[key] = {value, config::diagnostic_at(document, node.mark, config::width_of(document, node))};
  }
  for (const auto& [key, value] : command_line) {
    if (!file_named_by(key).empty()) all[key] = {value, std::nullopt};
  }
  return all;
}

const config::Document& load_once(InputFiles& files, const fs::path& path) {
  files.paths.insert(path.string());
  return files.documents.get(path.string(), nullptr, [&](auto*) { return config::load(path); });
}

config::Document load_with(InputFiles& files, const fs::path& path, std::string_view file,
                           const FileOverrides& overrides) {
  config::Document document = load_once(files, path);
  for (const auto& [key, item] : overrides) {
    if (file_named_by(key) != file) continue;
    config::set(document, key.substr(file.size() + 1), item.value, key.substr(0, file.size() + 1),
                item.written_at ? &*item.written_at : nullptr);
  }
  return document;
}

/// What tells one reading of a file from another.
std::string reading_of(const fs::path& path, std::string_view file, const FileOverrides& overrides) {
  std::string reading = path.string();
  for (const auto& [key, item] : overrides) {
    if (file_named_by(key) == file) reading += fmt::format("\n{}={}", key, item.value);
  }
  return reading;
}

/// Everything wrong with the files of one experiment, gathered: a step that throws keeps the others going.
class Gathered {
public:
  /// Runs a step that depends on what `key` of the experiment says. An error without a place gets that key's.
  template <class Step>
  void run(const config::Document& document, std::string_view key, Step step) {
    try {
      step();
    } catch (const InputError& error) {
      if (error.diagnostics().front().file.empty()) {
        place(document, key, error.diagnostics().front());
      } else {
        all_.insert(all_.end(), error.diagnostics().begin(), error.diagnostics().end());
      }
    }
  }
  void finish() const {
    if (!all_.empty()) throw InputError(all_);
  }

private:
  void place(const config::Document& document, std::string_view key, const Diagnostic& error) {
    config::Problems problems(document);
    problems.error(key, error.message, error.hint);
    try {
      problems.finish(nullptr);
    } catch (const InputError& placed) {
      all_.push_back(placed.diagnostics().front());
    }
  }

  std::vector<Diagnostic> all_;
};

void check_batch(const Trace& trace, const Experiment& experiment) {
  if (trace.batch_per_gpu == 0 || trace.batch_per_gpu == experiment.batch_per_gpu) return;
  throw InputError(
      fmt::format("the trace is a step of {} samples, not {}", trace.batch_per_gpu, experiment.batch_per_gpu),
      "a trace cannot be stretched: record one for each batch");
}

void check_precision(const Trace& trace, const Experiment& experiment) {
  if (!trace.precision || *trace.precision == experiment.precision) return;
  throw InputError(fmt::format("the trace is a step in {}, not {}", config::name_of(*trace.precision),
                               config::name_of(experiment.precision)),
                   "record a trace for each precision");
}

void check_accumulation(const Trace& trace, const Experiment& experiment) {
  if (trace.accumulation == 1 || trace.accumulation == experiment.accumulation) return;
  throw InputError(fmt::format("the trace is a step of {} micro-batches, not {}", trace.accumulation,
                               experiment.accumulation),
                   "a trace without '# accumulation:' is one micro-batch and can be repeated");
}

/// A trace of several micro-batches says itself which of them complete gradients.
void check_reductions(const Trace& trace, const Stack& stack) {
  if (stack.reduce_each_micro_batch || trace.accumulation == 1) return;
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  if (by_micro_batch(trace, gradients).size() < 2) return;
  throw InputError("the trace completes gradients in several micro-batches, the stack reduces them once",
                   "reduce_each_micro_batch: true in the stack, or gradients in the last micro-batch only");
}

/// What a reader of a replay must know: which keys of the experiment its trace has already answered.
std::vector<std::string> replay_notes(const Trace& trace, const Stack& stack, int ranks) {
  const auto has_duration = [](const Op& op) { return op.duration && op.kind != OpKind::host; };
  const auto communicates = [](const Op& op) { return op.communication != Communication::none; };
  const auto has_gradients = [](const Op& op) { return !op.gradients.empty(); };
  std::vector<std::string> notes;
  if (std::ranges::any_of(trace.ops, has_duration)) {
    notes.emplace_back(
        "durations are the trace's: the GPU profile, optimizer, compute_scale and op_overhead do not change "
        "them (empty duration_s to ask the profile)");
  } else {
    notes.emplace_back("ops are the trace's: the optimizer does not change them");
  }
  const auto is_op = [](const GradientPass& pass) { return pass.ranks == PassRanks::all; };
  if (stack.fused_elementwise || !stack.layer_work.empty() || stack.step_overhead.value > Seconds() ||
      stack.scalar_rings || stack.step_overhead_per_gpu.value > Seconds() ||
      stack.micro_batch_overhead.value > Seconds() || std::ranges::any_of(stack.gradient_work, is_op)) {
    notes.emplace_back(
        "what the stack does besides is the trace's too: fused_elementwise, layer_work, time of the host "
        "behind a step and gradient_work of ranks: all do not change it");
  }
  if (ranks == 1) return notes;
  if (std::ranges::any_of(trace.ops, communicates)) {
    notes.emplace_back(
        "collectives are the trace's: the stack's buckets, gradient type and overlap are not used "
        "(empty both communication columns to ask the stack)");
  } else if (std::ranges::none_of(trace.ops, has_gradients)) {
    notes.emplace_back(
        "the trace names neither gradients nor collectives, so its ranks exchange nothing "
        "(fill in parameter_bytes)");
  }
  return notes;
}

std::string staging_note(const Stack& stack) {
  return fmt::format(
      "GPUs of a node send each other everything through host memory (intra_node of {}): links between "
      "them and peer-to-peer access are not used",
      stack.name);
}

/// What of the machine nobody built.
std::vector<std::string> speed_notes(const Inputs& inputs) {
  std::vector<std::string> notes;
  if (inputs.gpu.has_speed != 1) {
    notes.push_back(fmt::format("a what-if: every kernel is {} times as fast as on {} (gpu.speed)",
                                shortest(inputs.gpu.has_speed), inputs.gpu.name));
  }
  const LinkSpeeds& speeds = inputs.platform.speeds;
  for (const auto& [key, speed] : {std::pair("nvlink", speeds.nvlink), std::pair("pcie", speeds.pcie),
                                   std::pair("sockets", speeds.sockets)}) {
    if (speed == 1) continue;
    notes.push_back(
        fmt::format("a what-if: links inside a node have {} times the bandwidth of {}'s (node.speed.{})",
                    shortest(speed), inputs.platform.name, key));
  }
  return notes;
}

/// Another job on the same machine.
Inputs read_neighbour(const config::Catalogue& catalogue, const std::string& name, const fs::path& file,
                      const Platform& platform, IntraNode intra_node, InputFiles& files) {
  // before it is read with all it names: it might name itself
  const Experiment its = load_experiment(load_once(files, file));
  if (!its.neighbours.empty() || !its.background.empty() || !its.events.empty() || its.faults) {
    throw InputError(
        fmt::format("{} has neighbours, background, events or faults of its own", in_quotes(name)),
        "write them into this experiment");
  }
  if (its.input.data == InputData::real) {
    throw InputError(fmt::format("{} reads real data", in_quotes(name)),
                     "a neighbour repeats one step with synthetic data");
  }
  if (is_training(its)) {
    throw InputError(fmt::format("{} is many updates long", in_quotes(name)),
                     "a neighbour repeats one step: update: sync, no servers, nothing random");
  }
  for (const auto& [key, value] : its.set) {
    if (file_named_by(key) == "platform") {
      throw InputError(fmt::format("{} sets {}", in_quotes(name), key),
                       "neighbours share one machine: set it in this experiment");
    }
  }
  Inputs other = read_inputs(catalogue, file.string(), {}, files);
  if (other.platform.name != platform.name) {
    throw InputError(
        fmt::format("{} runs on {}, not on {}", in_quotes(name), other.platform.name, platform.name),
        "neighbours share one machine");
  }
  if (other.stack.intra_node != intra_node) {
    throw InputError(fmt::format("the stack of {} has intra_node: {}, this one's {}", in_quotes(name),
                                 config::name_of(other.stack.intra_node), config::name_of(intra_node)),
                     "neighbours share one machine, which has one way between the GPUs of a node");
  }
  return other;
}

void check_variation(const Randomness& random, const GpuProfile& gpu) {
  if (random.gpus == GpuSpread::none || (gpu.variation && (gpu.variation->gpu || gpu.variation->step)))
    return;
  throw InputError(fmt::format("{} does not state how much GPUs of its kind differ (variation)", gpu.name),
                   "random: {gpu: {kind: normal, sd: 0.015}}");
}

}  // namespace

std::string_view file_named_by(std::string_view path) {
  constexpr std::string_view files[] = {"platform", "gpu", "model", "stack"};
  const std::string_view first = path.substr(0, path.find('.'));
  if (first.size() == path.size()) return {};
  const auto* const file = std::ranges::find(files, first);
  return file == std::ranges::end(files) ? std::string_view() : *file;
}

Cluster cluster_of(const Inputs& inputs) {
  const Experiment& experiment = inputs.experiment;
  return make_cluster(inputs.platform, experiment.nodes, experiment.gpus.value_or(0),
                      experiment.gpus_per_node.value_or(0));
}

Inputs read_inputs(const config::Catalogue& catalogue, const std::string& name, const Overrides& overrides) {
  InputFiles files;
  return read_inputs(catalogue, name, overrides, files);
}

Inputs read_inputs(const config::Catalogue& catalogue, const std::string& name, const Overrides& overrides,
                   InputFiles& files) {
  const fs::path file = config::find(catalogue, config::Kind::experiment, name);
  return read_inputs(catalogue, load_once(files, file), file, overrides, files);
}

Inputs read_inputs(const config::Catalogue& catalogue, config::Document document, const fs::path& file,
                   const Overrides& overrides, InputFiles& files) {
  for (const auto& [key, value] : overrides) {
    if (file_named_by(key).empty()) config::set(document, key, value);
  }

  Inputs inputs;
  inputs.name = file.stem().string();
  inputs.experiment = load_experiment(document);
  Experiment& experiment = inputs.experiment;
  const FileOverrides set = file_overrides(document, experiment, overrides);
  for (const auto& [key, item] : set) experiment.set[key] = item.value;
  Gathered gathered;

  // A path is written into the resolved experiment so that it means the same file from any folder.
  const auto find = [&](config::Kind kind, std::string& what) {
    const fs::path found = config::find(catalogue, kind, what, file);
    if (config::is_path(what)) what = fs::weakly_canonical(found).string();
    return found;
  };
  bool has_platform = false;
  bool has_stack = false;
  gathered.run(document, "platform", [&] {
    const fs::path path = find(config::Kind::platform, experiment.platform);
    inputs.platform = files.platforms.get(
        reading_of(path, "platform", set), &inputs.warnings,
        [&](auto* warnings) { return load_platform(load_with(files, path, "platform", set), warnings); });
    has_platform = true;
    const fs::path gpu = config::find(catalogue, config::Kind::gpu, inputs.platform.gpu_profile, path);
    inputs.gpu = files.gpus.get(reading_of(gpu, "gpu", set), &inputs.warnings, [&](auto* warnings) {
      return load_gpu_profile(load_with(files, gpu, "gpu", set), warnings);
    });
    if (inputs.gpu.kernels) files.paths.insert((gpu.parent_path() / *inputs.gpu.kernels).string());
    gathered.run(document, "precision", [&] { matrix_dtype(inputs.gpu, experiment.precision); });
  });
  gathered.run(document, "stack", [&] {
    const fs::path path = find(config::Kind::stack, experiment.stack);
    inputs.stack = files.stacks.get(reading_of(path, "stack", set), &inputs.warnings, [&](auto* warnings) {
      return load_stack(load_with(files, path, "stack", set), warnings);
    });
    has_stack = true;
    require_usable(inputs.stack, experiment);
  });
  const bool is_staged = has_platform && has_stack && inputs.stack.intra_node == IntraNode::host;
  const bool changes_ways = is_staged && has_gpu_links(inputs.platform);
  if (is_staged) inputs.platform = staged_through_host(std::move(inputs.platform));
  if (experiment.trace) {
    gathered.run(document, "trace", [&] {
      for (const auto& [key, value] : experiment.set) {
        if (file_named_by(key) == "model")
          throw InputError("a replayed trace has no model to set", "edit the trace");
      }
      fs::path path = *experiment.trace;
      if (path.is_relative() && fs::exists(file.parent_path() / path)) path = file.parent_path() / path;
      files.paths.insert(path.string());
      inputs.trace = read_trace(path.string(), config::read_file(path, largest_csv));
      experiment.trace = fs::weakly_canonical(path).string();
    });
    gathered.run(document, "batch_per_gpu", [&] { check_batch(inputs.trace, experiment); });
    gathered.run(document, "precision", [&] { check_precision(inputs.trace, experiment); });
    gathered.run(document, "accumulation", [&] { check_accumulation(inputs.trace, experiment); });
    if (has_stack) gathered.run(document, "stack", [&] { check_reductions(inputs.trace, inputs.stack); });
    inputs.trace.precision = experiment.precision;
  } else {
    gathered.run(document, "model", [&] {
      const fs::path path = find(config::Kind::model, *experiment.model);
      const Model& model = inputs.model.emplace(files.models.get(
          reading_of(path, "model", set), &inputs.warnings,
          [&](auto* warnings) { return load_model(load_with(files, path, "model", set), warnings); }));
      inputs.trace = make_trace(model, experiment.batch_per_gpu, experiment.precision, experiment.optimizer);
      if (inputs.stack.fused_elementwise) fuse_elementwise(inputs.trace, model.layers);
      add_layer_work(inputs.trace, model.layers, inputs.stack.layer_work);
      if (model.samples_per_epoch) inputs.samples_per_epoch = model.samples_per_epoch->value;
    });
  }
  if (inputs.trace.accumulation == 1) {
    accumulate(inputs.trace, experiment.accumulation, element_sizes(experiment.precision).gradient,
               inputs.stack.reduce_each_micro_batch);
  }
  if (!experiment.trace) add_stack_ops(inputs.trace, inputs.stack);
  gathered.run(document, "random", [&] {
    read_factor_files(experiment.random, file);
    for (const auto& distribution : {experiment.random.op, experiment.random.step, experiment.random.node}) {
      if (distribution && distribution->file) files.paths.insert(*distribution->file);
    }
    if (has_platform) check_variation(experiment.random, inputs.gpu);
  });
  gathered.run(document, "neighbours", [&] {
    if (!has_platform) return;
    for (std::string& neighbour : experiment.neighbours) {
      const fs::path path = find(config::Kind::experiment, neighbour);
      inputs.neighbours.push_back(
          read_neighbour(catalogue, neighbour, path, inputs.platform, inputs.stack.intra_node, files));
    }
  });
  if (has_platform && has_stack) {
    if (!files.protocols) {
      files.protocols = shipped_protocols(catalogue);
      files.paths.insert(config::find(catalogue, config::Kind::protocols, "nccl").string());
    }
    inputs.costs = costs_of(*files.protocols, inputs.stack.nccl, inputs.platform.fabric);
  }
  if (has_platform) {
    gathered.run(document, experiment.gpus ? "gpus" : "gpus_per_node", [&] {
      const Cluster cluster = cluster_of(inputs);
      if (!experiment.trace) {
        add_ranks_overhead(inputs.trace, inputs.stack, cluster.ranks(), cluster.nodes,
                           std::ranges::max(cluster.gpus_on_node));
      }
      if (experiment.trace) inputs.notes = replay_notes(inputs.trace, inputs.stack, cluster.ranks());
      if (changes_ways && cluster.gpus_on_node.front() > 1)
        inputs.notes.push_back(staging_note(inputs.stack));
      for (std::string& note : speed_notes(inputs)) inputs.notes.push_back(std::move(note));
    });
    if (experiment.trace || inputs.model) gathered.run(document, "input", [&] { check_input(inputs); });
    gathered.run(document, "background", [&] { check_background(inputs); });
    gathered.run(document, "events", [&] { check_events(inputs); });
  }
  gathered.finish();
  return inputs;
}

}  // namespace trainyard
