#include "experiment/resolve.hpp"

#include "accuracy/expected_error.hpp"
#include "compute/op_time.hpp"
#include "compute/processor_profile.hpp"
#include "config/file_paths.hpp"
#include "config/read.hpp"
#include "config/read_file.hpp"
#include "config/write.hpp"
#include "experiment/class_traces.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/experiment_notes.hpp"
#include "experiment/input_copy.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/learning_needs.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/read_factors.hpp"
#include "experiment/replaced_keys.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/slowest_gpu.hpp"
#include "experiment/software_use.hpp"
#include "experiment/sparse_gradients.hpp"
#include "experiment/stack_rules.hpp"
#include "experiment/swapped_gpus.hpp"
#include "experiment/torus_grid.hpp"
#include "experiment/trace_checks.hpp"
#include "learn/samples.hpp"
#include "limits/run_limits.hpp"
#include "platform/channels.hpp"
#include "platform/host_staging.hpp"
#include "platform/load.hpp"
#include "strategy/experts.hpp"
#include "strategy/layout_checks.hpp"
#include "strategy/stack_ops.hpp"
#include "strategy/vocabulary.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "workload/accumulate.hpp"
#include "workload/csv.hpp"
#include "workload/eight_bits.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <optional>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

/// An override for a key of a file that the experiment names, and the place where it was written.
struct FileOverride {
  std::string value;
  std::optional<Diagnostic> written_at;  ///< none: on the command line
};
using FileOverrides = std::map<std::string, FileOverride>;

/// The overrides of the experiment's key `set` and of the command line, which takes precedence.
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

/// config::find(), which looks for each file once.
fs::path find_once(InputFiles& files, const config::Catalogue& catalogue, config::Kind kind,
                   const std::string& name, const fs::path& relative_to = {}) {
  const std::string key = fmt::format("{}\n{}\n{}", config::word_of(kind), name,
                                      config::is_path(name) ? relative_to.string() : std::string());
  return files.found.get(key, [&] { return config::find(catalogue, kind, name, relative_to); });
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

/// A key that distinguishes readings of a file.
std::string reading_of(const fs::path& path, std::string_view file, const FileOverrides& overrides) {
  std::string reading = path.string();
  for (const auto& [key, item] : overrides) {
    if (file_named_by(key) == file) reading += fmt::format("\n{}={}", key, item.value);
  }
  return reading;
}

/// Collects all errors in the files of one experiment: the other steps run even if one throws.
class ErrorCollector {
public:
  /// Runs a step that depends on the experiment's value for `key`. Errors without a place get that of the key
  /// they name, or of `key`.
  template <class Step>
  void run(const config::Document& document, std::string_view key, Step step) {
    try {
      step();
    } catch (const InputError& error) {
      for (const Diagnostic& one : error.diagnostics()) {
        if (one.file.empty())
          place(document, one.key_path.empty() ? key : one.key_path, one);
        else
          all_.push_back(one);
      }
    }
  }
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
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
      add(placed.diagnostics().front());
    }
  }

  /// Several steps may fail for the same reason.
  void add(const Diagnostic& error) {
    if (std::ranges::find(all_, to_string(error), to_string) == all_.end()) all_.push_back(error);
  }

  std::vector<Diagnostic> all_;
};

/// Another job on the same machine.
ResolvedExperiment read_neighbour(const config::Catalogue& catalogue, const std::string& name,
                                  const fs::path& file, const Platform& platform, IntraNode intra_node,
                                  InputFiles& files) {
  // checked before it is read with all files it names, because it might name itself
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
  if (its.parallelism) {
    throw InputError(fmt::format("the ranks of {} share a model", in_quotes(name)),
                     "a neighbour's ranks each hold the whole model: leave out its 'parallelism'");
  }
  if (its.traces) {
    throw InputError(fmt::format("the ranks of {} replay traces of their own", in_quotes(name)),
                     "a neighbour's ranks are all alike: one trace");
  }
  if (is_multi_update(its)) {
    throw InputError(fmt::format("{} is a run of many updates", in_quotes(name)),
                     "a neighbour repeats one step: update: sync, no servers, nothing random");
  }
  for (const auto& [key, value] : its.set) {
    if (file_named_by(key) == "platform") {
      throw InputError(fmt::format("{} sets {}", in_quotes(name), key),
                       "neighbours share one machine: set it in this experiment");
    }
  }
  ResolvedExperiment other = resolve(catalogue, file.string(), {}, files);
  if (other.platform.name != platform.name) {
    throw InputError(
        fmt::format("{} runs on {}, not on {}", in_quotes(name), other.platform.name, platform.name),
        "neighbours share one machine");
  }
  if (other.stack.intra_node != intra_node) {
    throw InputError(
        fmt::format("the stack of {} has intra_node: {}, that of this experiment has {}", in_quotes(name),
                    config::name_of(other.stack.intra_node), config::name_of(intra_node)),
        "neighbours share one machine: use stacks with the same intra_node");
  }
  return other;
}

/// Rate of a copy between the first GPU and its CPU's memory. Throws InputError if there is no path.
Bandwidth host_rate(const Cluster& cluster) {
  Bandwidth rate(std::numeric_limits<double>::infinity());
  std::vector<LinkId> links;
  try {
    append_route(cluster, HostMemory{.node = NodeId{0}, .cpu = 0}, Rank{0}, links);
  } catch (const Unreachable&) {
    throw InputError(fmt::format("the stack copies through host memory, which no link of {} reaches",
                                 cluster.platform.name),
                     "link GPUs to a cpu, or a stack without layer_copies");
  }
  for (const LinkId link : links) rate = std::min(rate, capacity(cluster, link));
  return rate;
}

/// The op's time does not come from a trace.
bool is_computed_here(const Op& op) { return !op.duration && op.kind != OpKind::host; }

void check_variation(const Randomness& random, const GpuProfile& gpu) {
  if (random.gpus.value_or(GpuSpread::none) == GpuSpread::none ||
      (gpu.variation && (gpu.variation->gpu || gpu.variation->step)))
    return;
  throw InputError(fmt::format("{} does not state how much GPUs of its kind differ (variation)", gpu.name),
                   "random: {gpu: {kind: normal, sd: 0.015}}");
}

/// Reads the files of one experiment in the order of their dependencies, and continues after errors where
/// possible, so that all are reported at once.
class Resolver {
public:
  Resolver(const config::Catalogue& catalogue, const config::Document& document, fs::path file,
           InputFiles& files)
      : catalogue_(catalogue), document_(document), file_(std::move(file)), files_(files) {
    resolved_.name = file_.stem().string();
    resolved_.settings = load_experiment(document_);
    resolved_.classes.front().name = "all ranks";
  }

  ResolvedExperiment resolved(const Overrides& overrides) {
    set_ = file_overrides(document_, settings_, overrides);
    // The file's factor belongs to the file's measurement.
    const auto sets = [&](const char* key) {
      return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
    };
    if (sets("one_gpu") && !sets("one_gpu_scale")) settings_.one_gpu_scale.reset();
    for (const auto& [key, item] : set_) settings_.set[key] = item.value;
    errors_.run(document_, "platform", [&] { read_platform(); });
    errors_.run(document_, "stack", [&] { read_stack(); });
    if (has_platform_ && has_stack_) stage_through_host();
    if (settings_.trace)
      replay_trace();
    else if (settings_.traces)
      replay_traces();
    else
      errors_.run(document_, "model", [&] { trace_model(); });
    finish_trace();
    if (has_platform_ && has_stack_) errors_.run(document_, "software", [&] { read_software(); });
    errors_.run(document_, "random", [&] { read_random(); });
    if (settings_.learn && settings_.learn->data)
      errors_.run(document_, key_of(*settings_.learn->data), [&] { read_samples(*settings_.learn->data); });
    if (has_platform_) errors_.run(document_, "neighbours", [&] { read_neighbours(); });
    if (has_platform_ && has_stack_) errors_.run(document_, "stack", [&] { read_protocols(); });
    if (has_platform_) place_ranks();
    if (settings_.learn && resolved_.cluster && errors_.is_empty())
      errors_.run(document_, "learn", [&] { check_learning_needs(resolved_); });
    if (settings_.one_gpu && errors_.is_empty())
      errors_.run(document_, "one_gpu", [&] { scale_to_one_gpu(resolved_); });
    if (errors_.is_empty() && files_.wants_published_errors) read_published_errors();
    errors_.finish();
    if (resolved_.name.empty()) resolved_.name = what_on_what();
    if (gpu_note_) resolved_.notes.push_back(*gpu_note_);
    return std::move(resolved_);
  }

private:
  /// "vgg16 on minsky", for an experiment without a file.
  [[nodiscard]] std::string what_on_what() const {
    const std::string what = resolved_.model   ? resolved_.model->name
                             : settings_.trace ? fs::path(*settings_.trace).stem().string()
                                               : "traces";
    return fmt::format("{} on {}", what, resolved_.platform.name);
  }

  /// A path is written into the resolved experiment so that it names the same file from any folder.
  fs::path find(config::Kind kind, std::string& name) {
    const fs::path found = find_once(files_, catalogue_, kind, name, file_);
    if (config::is_path(name)) name = config::real_path(found).string();
    return found;
  }

  /// A file of a kind that is read once for all experiments with the same overrides.
  template <class Cache, class Load>
  auto read(Cache& cache, const fs::path& path, std::string_view kind, Load load) {
    return cache.get(reading_of(path, kind, set_), &resolved_.warnings,
                     [&](auto* warnings) { return load(load_with(files_, path, kind, set_), warnings); });
  }

  void read_platform() {
    const fs::path path = find(config::Kind::platform, settings_.platform);
    resolved_.platform = read(files_.platforms, path, "platform", load_platform);
    has_platform_ = true;
    leave_out_price_of_other_gpus(path);
    const Platform& platform = resolved_.platform;
    const fs::path gpu = find_once(files_, catalogue_, profile_kind(platform), platform.gpu_profile, path);
    const char* const other = platform.ranks_on_processors ? "gpu" : "processor";
    for (const auto& [key, item] : set_) {
      if (file_named_by(key) == other) unused_profile_key(key, item);
    }
    if (platform.ranks_on_processors) {
      errors_.run(document_, "platform", [&] {
        resolved_.gpu = load_processor_profile(load_with(files_, gpu, "processor", set_),
                                               platform.memory_mode, &resolved_.warnings);
        keep_op_times(resolved_.gpu);
      });
    } else {
      resolved_.gpu = read(files_.gpus, gpu, "gpu", [](const config::Document& file, auto* warnings) {
        GpuProfile profile = load_gpu_profile(file, warnings);
        keep_op_times(profile);
        return profile;
      });
    }
    for (const auto& table : {resolved_.gpu.kernels, resolved_.gpu.vector_kernels}) {
      if (table) files_.paths.insert((gpu.parent_path() / *table).string());
    }
    if (!resolved_.gpu.like_file.empty()) files_.paths.insert(resolved_.gpu.like_file);
    errors_.run(document_, "precision", [&] { matrix_dtype(resolved_.gpu, settings_.precision); });
  }

  /// An experiment's file that names other GPUs, and a machine that exists with them, keep price and power.
  void leave_out_price_of_other_gpus(const fs::path& path) {
    const auto is_given = [&](const char* key) {
      const auto given = set_.find(key);
      return given != set_.end() && !given->second.written_at;
    };
    const bool has_others = is_given("platform.node.gpus.profile") || is_given("platform.node.gpus.count");
    if (files_.machines_exist || !has_others) return;
    const config::Document& own = load_once(files_, path);
    const std::string& count = own.nearest("node.gpus.count").scalar;
    const std::string& profile = own.nearest("node.gpus.profile").scalar;
    const Platform& platform = resolved_.platform;
    if (profile != platform.gpu_profile || count != std::to_string(platform.gpus.size()))
      gpu_note_ =
          leave_out_price_and_power(resolved_.platform, fmt::format("{} {}", count, profile), settings_.set);
  }

  /// The platform has no profile of the kind that an override names.
  void unused_profile_key(const std::string& key, const FileOverride& item) {
    const Platform& platform = resolved_.platform;
    Diagnostic problem = item.written_at.value_or(Diagnostic{});
    problem.key_path = key;
    problem.message =
        fmt::format("no effect: the ranks of {} are on {}s", platform.name, device_word(platform));
    problem.hint =
        platform.ranks_on_processors
            ? "keys of its profile begin with 'processor.'; faster kernels: stack.compute_scale=0.5"
            : "keys of its profile begin with 'gpu.'";
    errors_.run(document_, "platform", [&] { throw InputError({problem}); });
  }

  void read_stack() {
    const fs::path path = find(config::Kind::stack, settings_.stack);
    resolved_.stack = read(files_.stacks, path, "stack", load_stack);
    has_stack_ = true;
    require_usable(resolved_.stack, settings_);
  }

  void read_software() {
    // The factors rest on runs of GPUs.
    if (has_platform_ && resolved_.platform.ranks_on_processors) return;
    const fs::path path = find(config::Kind::software, settings_.software);
    const Software& software = files_.software.get(path.string(), &resolved_.warnings, [&](auto* warnings) {
      return load_software(load_once(files_, path), warnings);
    });
    if (!software.factors) return;
    files_.paths.insert((path.parent_path() / *software.factors).string());
    resolved_.stack.slowdown = slowdown_of(software, software_use(resolved_));
    resolved_.stack.slowdown.source = software.title;
  }

  void read_published_errors() {
    resolved_.published_errors =
        known_errors(catalogue_, fit_of(resolved_), resolved_.layout.has_value(), files_);
  }

  [[nodiscard]] Trace& trace() { return resolved_.classes.front().trace; }

  void stage_through_host() {
    if (resolved_.stack.intra_node != IntraNode::host) return;
    if (resolved_.platform.ranks_on_processors) {
      errors_.run(document_, "stack", [&] {
        throw InputError(
            fmt::format("no effect: the ranks of {} are on hosts (intra_node)", resolved_.platform.name),
            "intra_node: direct");
      });
      return;
    }
    bypasses_gpu_links_ = has_gpu_links(resolved_.platform);
    resolved_.platform = staged_through_host(std::move(resolved_.platform));
  }

  /// Reads a trace file into a class; its name becomes one that is the same in any folder.
  void read_class(std::string& name, RankClass& one) {
    for (const auto& [key, value] : settings_.set) {
      if (file_named_by(key) == "model")
        throw InputError("a replayed trace has no model to set", "edit the trace");
    }
    const fs::path path = config::beside(file_, name);
    files_.paths.insert(path.string());
    one.trace = read_trace(path.string(), config::read_file(path, largest_csv));
    one.file = path.string();
    const std::optional<double>& samples = one.trace.samples_per_epoch;
    if (samples && resolved_.samples_per_epoch.value_or(*samples) != *samples)
      throw InputError("the traces of an experiment state different numbers of samples_per_epoch",
                       "write the same number into all of them");
    if (samples) resolved_.samples_per_epoch = samples;
    name = config::real_path(path).string();
  }

  void check_class(RankClass& one) {
    errors_.run(document_, "batch_per_gpu", [&] { check_batch(one.trace, settings_.batch_per_gpu); });
    errors_.run(document_, "precision", [&] {
      check_precision(one.trace, settings_.precision);
      require_no_8_bits(one, settings_.precision);
    });
    errors_.run(document_, "accumulation", [&] { check_accumulation(one.trace, settings_.accumulation); });
    if (has_stack_) errors_.run(document_, "stack", [&] { check_reductions(one.trace, resolved_.stack); });
    one.trace.precision = settings_.precision;
  }

  void replay_trace() {
    errors_.run(document_, "trace", [&] {
      read_class(*settings_.trace, resolved_.classes.front());
      require_no_messages(resolved_.classes.front());
    });
    check_class(resolved_.classes.front());
    warn_of_no_8_bits();
  }

  void warn_of_no_8_bits() {
    if (auto warning = without_8_bits(resolved_.classes, settings_.precision))
      resolved_.warnings.push_back(*std::move(warning));
  }

  void replay_traces() {
    resolved_.classes.assign(settings_.traces->size(), {});
    for (std::size_t i = 0; i < resolved_.classes.size(); ++i) {
      RankClass& one = resolved_.classes[i];
      errors_.run(document_, fmt::format("traces[{}].trace", i),
                  [&] { read_class((*settings_.traces)[i].trace, one); });
      one.name = fs::path(one.file).stem().string();
      check_class(one);
    }
    warn_of_no_8_bits();
  }

  /// Which ranks replay each trace, and where these are in the grid.
  void place_classes() {
    const Grid& grid = resolved_.grid.emplace(
        make_grid(settings_.parallelism.value_or(Parallelism{}), resolved_.cluster->ranks()));
    const std::vector<std::vector<Rank>> ranks = ranks_of_traces(*settings_.traces, grid);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      RankClass& one = resolved_.classes[i];
      one.ranks = ranks[i];
      one.stage = coordinates(grid, one.ranks.front()).pipeline;
    }
    std::ranges::sort(resolved_.classes, {}, [](const RankClass& one) { return one.ranks.front(); });
    name_apart(resolved_.classes);
  }

  void trace_model() {
    const fs::path path = find(config::Kind::model, *settings_.model);
    const Model& model = resolved_.model.emplace(read(files_.models, path, "model", load_model));
    resolved_.samples_per_epoch = samples_per_epoch(model);
    if (!is_given("optimizer")) settings_.optimizer = model.optimizer;
    if (settings_.precision == Precision::fp8)
      errors_.run(document_, "precision", [&] { require_8_bits(model.layers); });
    if (settings_.parallelism) return;  // place_ranks() makes the traces
    trace() = model_trace(resolved_, settings_.batch_per_gpu);
  }

  [[nodiscard]] bool is_given(std::string_view key) const {
    const config::Node* const node = document_.root.find(key);
    return node != nullptr && !config::is_unset(*node);
  }

  [[nodiscard]] bool is_replay() const { return settings_.trace || settings_.traces; }

  void finish_trace() {
    if (settings_.parallelism && !is_replay()) return;
    for (RankClass& one : resolved_.classes) {
      if (one.trace.accumulation > 1 || settings_.accumulation == 1) continue;
      const double ops = 1.0 * settings_.accumulation * static_cast<double>(one.trace.ops.size());
      expect({.listed_ops = ops, .simulated_ops = ops},
             "every op of every micro-batch is listed, and a smaller 'accumulation' has fewer");
      accumulate(one.trace, settings_.accumulation, element_sizes(settings_.precision).gradient,
                 resolved_.stack.reduce_each_micro_batch);
    }
    if (!is_replay()) add_stack_ops(trace(), resolved_.stack);
  }

  void read_random() {
    read_factor_files(settings_.random, file_, files_.paths);
    fill_in_means(settings_.random);
    if (has_platform_ && !resolved_.gpu.name.empty()) check_variation(settings_.random, resolved_.gpu);
  }

  static const char* key_of(const LearningData& data) {
    return data.file ? "learn.data.file" : data.idx ? "learn.data.idx" : "learn.data";
  }

  /// Files get names that are the same in any folder.
  void read_samples(LearningData& data) {
    for (std::optional<std::string>* const name : {&data.file, &data.idx}) {
      if (!*name) continue;
      const fs::path path = config::beside(file_, **name);
      files_.paths.insert(path.string());
      std::error_code error;  // reading says why a path cannot be looked at
      if (fs::exists(path, error))
        *name = config::real_path(path).string();
      else if (!error)
        throw InputError(fmt::format("there is no {}", in_quotes(path.string())),
                         "paths are relative to the experiment's file");
    }
    const auto seed = static_cast<std::uint64_t>(settings_.random.seed);
    resolved_.learning_sets =
        files_.learning_sets.get(fmt::format("{}\n{}", config::write(data), seed), nullptr, [&](auto*) {
          return std::make_shared<const LearningSets>(load_samples(data, catalogue_, file_, seed));
        });
  }

  void read_neighbours() {
    for (std::string& neighbour : settings_.neighbours) {
      const fs::path path = find(config::Kind::experiment, neighbour);
      resolved_.neighbours.push_back(read_neighbour(catalogue_, neighbour, path, resolved_.platform,
                                                    resolved_.stack.intra_node, files_));
    }
  }

  void read_protocols() {
    if (!files_.protocols) {
      files_.protocols = shipped_protocols(catalogue_);
      files_.paths.insert(config::find(catalogue_, config::Kind::protocols, "nccl").string());
    }
    resolved_.library = library_of(resolved_.stack, resolved_.platform, resolved_.gpu, *files_.protocols);
  }

  /// The classes of a job whose ranks share a model.
  void lay_out() {
    Model& model = *resolved_.model;
    if (const auto vocabulary = pad_vocabulary(model.layers, settings_.parallelism->tensor)) {
      resolved_.notes.push_back(
          fmt::format("the vocabulary is padded from {} to {} entries, a multiple of 128 x tensor {} "
                      "(Megatron-LM's rule)",
                      vocabulary->entries, vocabulary->padded, settings_.parallelism->tensor));
    }
    const LayoutRequest request = layout_request(resolved_, *settings_.parallelism);
    LaidOut laid = laid_out(request);
    resolved_.layout = std::move(laid.layout);
    resolved_.classes = std::move(laid.classes);
    for (const RankClass& one : resolved_.classes) {
      std::vector<Diagnostic> few_rows = expert_warnings(one.layers, settings_.batch_per_gpu);
      if (few_rows.empty()) continue;
      resolved_.warnings.push_back(std::move(few_rows.front()));
      break;
    }
    if (settings_.parallelism->recompute == Recompute::selective &&
        std::ranges::none_of(model.layers, is_attention_core))
      resolved_.notes.emplace_back(
          "selective recomputation has no effect: fused attention keeps no scores to compute again");
    const std::vector<int>& gpus = resolved_.cluster->gpus_on_node;
    for (Diagnostic& warning :
         layout_warnings(request.parallelism, resolved_.layout->grid, gpus.front(), settings_.accumulation))
      resolved_.warnings.push_back(std::move(warning));
    double most = 0;
    for (const RankClass& one : resolved_.classes) most = std::max(most, totals(one.layers).parameters);
    if (auto warning = buffered_gradients_warning(resolved_.stack, *settings_.parallelism, most,
                                                  settings_.precision, settings_.accumulation))
      resolved_.warnings.push_back(*std::move(warning));
  }

  void place_ranks() {
    errors_.run(document_, "nodes", [&] {
      resolved_.cluster = cluster_for(resolved_.platform, settings_);
      if (!settings_.traces) resolved_.classes.front().ranks = all_ranks(*resolved_.cluster);
    });
    if (!resolved_.cluster) return;
    if (settings_.parallelism && has_stack_ && resolved_.model)
      errors_.run(document_, "parallelism", [&] { lay_out(); });
    if (settings_.parallelism && settings_.trace) {
      errors_.run(document_, "parallelism",
                  [&] { resolved_.grid = make_grid(*settings_.parallelism, resolved_.cluster->ranks()); });
    }
    if (settings_.traces) errors_.run(document_, "traces", [&] { place_classes(); });
    errors_.run(document_, "nodes", [&] { finish_classes(); });
    errors_.run(document_, "sync.grid", [&] { require_torus_grid(resolved_); });
    errors_.run(document_, "model", [&] { check_sparse_gradients(); });
    if (is_replay() || resolved_.model) {
      errors_.run(document_, "input", [&] { check_input(resolved_); });
      errors_.run(document_, "job", [&] { check_job_needs(resolved_); });
    }
    errors_.run(document_, "background", [&] {
      resolved_.network = shared_cluster(resolved_);
      check_background(resolved_);
    });
    if (resolved_.network) errors_.run(document_, "events", [&] { check_events(resolved_); });
  }

  /// What is assumed about the load of the experts.
  void note_routing() {
    std::string note =
        routing_note(resolved_.model->layers, expert_setting(settings_.parallelism.value_or(Parallelism{})));
    if (!note.empty()) resolved_.notes.push_back(std::move(note));
  }

  [[nodiscard]] std::vector<std::string> notes_on_replays() const {
    std::vector<std::string> notes;
    for (const RankClass& one : resolved_.classes) {
      for (std::string& note : replay_notes(one.trace, resolved_.stack, resolved_.cluster->ranks())) {
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
      }
    }
    return notes;
  }

  void check_sparse_gradients() const {
    if (!resolved_.model) return;
    if (!settings_.parallelism) {
      Grid replicas;
      replicas.data = resolved_.cluster->ranks();
      require_reducible_gradients(resolved_.model->layers, replicas);
    } else if (resolved_.layout) {
      for (const RankClass& one : resolved_.classes)
        require_reducible_gradients(one.layers, resolved_.layout->grid);
    }
  }

  /// The work and the notes that depend on the number of ranks.
  void finish_classes() {
    const Cluster& cluster = *resolved_.cluster;
    if (settings_.parallelism && !is_replay() && !resolved_.layout) return;
    if (resolved_.model) note_routing();
    if (!is_replay()) {
      for (RankClass& one : resolved_.classes)
        add_ranks_overhead(one.trace, resolved_.stack, cluster.ranks(), cluster.nodes,
                           std::ranges::max(cluster.gpus_on_node));
    }
    if (!is_replay() && !settings_.parallelism) {
      const Seconds copies = input_copy_time(resolved_, cluster.gpus_on_node.front());
      add_input_copy(trace(), input_copy_time(resolved_, 1), copies);
      if (copies > Seconds()) resolved_.notes.push_back(input_copy_note(resolved_, copies));
    }
    if (is_replay()) resolved_.notes = notes_on_replays();
    if (bypasses_gpu_links_ && cluster.gpus_on_node.front() > 1)
      resolved_.notes.push_back(staging_note(resolved_.stack));
    if (const auto& note = resolved_.library.note; note && cluster.ranks() > 1)
      resolved_.notes.push_back(*note);
    for (std::string& note : profile_notes(resolved_)) resolved_.notes.push_back(std::move(note));
    for (std::string& note : speed_notes(resolved_)) resolved_.notes.push_back(std::move(note));
    if (!has_platform_ || !has_stack_) return;
    for (std::string& note : persistent_notes(resolved_)) resolved_.notes.push_back(std::move(note));
    resolved_.stack.slowest_gpu = slowest_gpu(resolved_);
    if (waits_for_slowest(resolved_)) settings_.random.gpus = GpuSpread::slowest;
    if (resolved_.stack.slowest_gpu > 1 && std::ranges::any_of(trace().ops, is_computed_here))
      resolved_.notes.push_back(slowest_gpu_note(resolved_));
  }

  const config::Catalogue& catalogue_;
  const config::Document& document_;
  fs::path file_;
  InputFiles& files_;
  FileOverrides set_;
  ErrorCollector errors_;
  ResolvedExperiment resolved_;
  Experiment& settings_ = resolved_.settings;
  std::optional<std::string> gpu_note_;  ///< on price and power of swapped GPUs
  bool has_platform_ = false;
  bool has_stack_ = false;
  bool bypasses_gpu_links_ = false;  ///< the stack copies through host memory instead of using the platform's
                                     ///< links between GPUs
};

const config::Document& document_without_file() {
  static const config::Document document = config::parse("the command line", "stack: pytorch_ddp");
  return document;
}

}  // namespace

std::string_view file_named_by(std::string_view path) {
  constexpr std::string_view files[] = {"platform", "gpu", "processor", "model", "stack"};
  const std::string_view first = path.substr(0, path.find('.'));
  if (first.size() == path.size()) return {};
  const auto* const file = std::ranges::find(files, first);
  return file == std::ranges::end(files) ? std::string_view() : *file;
}

const RankClass& only_class(const ResolvedExperiment& resolved) {
  if (resolved.classes.size() != 1) throw std::logic_error("several classes of ranks where one is expected");
  return resolved.classes.front();
}

int replicas(const ResolvedExperiment& resolved) {
  if (resolved.grid) return resolved.grid->data;
  return resolved.layout ? resolved.layout->grid.data : resolved.cluster->ranks();
}

bool shares_model(const ResolvedExperiment& resolved) {
  const auto divides = [](const Parallelism& its) {
    return !its.layers.empty() || its.shard == Sharded::parameters;
  };
  if (resolved.layout && divides(resolved.layout->parallelism) && replicas(resolved) > 1) return true;
  if (resolved.settings.traces) return true;
  return (resolved.layout || resolved.grid) && replicas(resolved) < resolved.cluster->ranks();
}

LayoutRequest layout_request(const ResolvedExperiment& resolved, const Parallelism& parallelism) {
  const Experiment& settings = resolved.settings;
  return {.model = *resolved.model,
          .stack = resolved.stack,
          .parallelism = parallelism,
          .ranks = resolved.cluster->ranks(),
          .ranks_per_node = resolved.cluster->gpus_on_node.front(),
          .host_rate = resolved.stack.layer_copies ? host_rate(*resolved.cluster) : Bandwidth(),
          .micro_batch = settings.batch_per_gpu,
          .micro_batches = settings.accumulation,
          .precision = settings.precision,
          .optimizer = settings.optimizer};
}

const RankClass& class_of(const ResolvedExperiment& resolved, Rank rank) {
  return resolved.classes[class_index(resolved.classes, rank)];
}

std::shared_ptr<const Cluster> cluster_for(const Platform& platform, const Experiment& settings) {
  return std::make_shared<const Cluster>(
      make_cluster(platform, settings.nodes, settings.gpus.value_or(0), settings.gpus_per_node.value_or(0)));
}

ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& name,
                           const Overrides& overrides) {
  InputFiles files;
  return resolve(catalogue, name, overrides, files);
}

const config::Document& experiment_document(const config::Catalogue& catalogue, const std::string& experiment,
                                            InputFiles& files) {
  if (experiment == no_file) return document_without_file();
  return load_once(files, find_once(files, catalogue, config::Kind::experiment, experiment));
}

ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& name,
                           const Overrides& overrides, InputFiles& files) {
  if (name == no_file) return resolve(catalogue, document_without_file(), {}, overrides, files);
  const fs::path file = find_once(files, catalogue, config::Kind::experiment, name);
  return resolve(catalogue, load_once(files, file), file, overrides, files);
}

ResolvedExperiment resolve(const config::Catalogue& catalogue, config::Document document,
                           const fs::path& file, const Overrides& overrides, InputFiles& files) {
  const std::vector<std::string> left_out = remove_replaced_keys(document, overrides);
  for (const auto& [key, value] : overrides) {
    if (file_named_by(key).empty()) config::set(document, key, value);
  }
  ResolvedExperiment resolved = Resolver(catalogue, document, file, files).resolved(overrides);
  resolved.is_changed = !overrides.empty();
  resolved.notes.insert(resolved.notes.begin(), left_out.begin(), left_out.end());
  return resolved;
}

}  // namespace trainyard
