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
#include "experiment/error_collector.hpp"
#include "experiment/experiment_notes.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/lay_out.hpp"
#include "experiment/learning_needs.hpp"
#include "experiment/lowered_stack.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/neighbours.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/read_factors.hpp"
#include "experiment/replaced_keys.hpp"
#include "experiment/scaled_trace.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/slowest_gpu.hpp"
#include "experiment/software_use.hpp"
#include "experiment/sparse_gradients.hpp"
#include "experiment/stack_rules.hpp"
#include "experiment/swapped_gpus.hpp"
#include "experiment/torus_grid.hpp"
#include "experiment/trace_checks.hpp"
#include "experiment/usual_software.hpp"
#include "experiment/whole_step.hpp"
#include "learn/samples.hpp"
#include "lowering/load_whole_lowering.hpp"
#include "platform/channels.hpp"
#include "platform/host_staging.hpp"
#include "platform/load.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/eight_bits.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

/// Stands for a file's name: overrides say everything but the stack.
constexpr const char* command_line = "the command line";

const char* key_of(const LearningData& data) {
  return data.file ? "learn.data.file" : data.idx ? "learn.data.idx" : "learn.data";
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
    for (const config::Node::Entry& entry : document_.root.entries) {
      if (is_total(entry.key) && !config::is_unset(entry.value))  // keys_meant.hpp has not been asked
        throw InputError(fmt::format("this experiment states '{}'", entry.key),
                         "here, state nodes, gpus, batch_per_gpu, accumulation and keys of the model");
    }
    resolved_.classes.front().name = "all ranks";
  }

  ResolvedExperiment resolved(const Overrides& overrides) {
    set_ = file_overrides(document_, settings_, overrides);
    // The file's factor belongs to the file's measurement.
    const auto sets = [&](const char* key) {
      return std::ranges::find(overrides, key, &Overrides::value_type::first) != overrides.end();
    };
    if (sets("one_gpu") && !sets("one_gpu_scale")) settings_.one_gpu_scale.reset();
    gpus_replace_nodes_ = sets("gpus") && !sets("nodes");
    set_stack_ = sets("stack");
    for (const auto& [key, item] : set_) settings_.set[key] = item.value;
    recorded_precision_ = settings_.precision;
    errors_.run(document_, "platform", [&] { read_platform(); });
    errors_.run(document_, "stack", [&] { read_stack(); });
    if (has_platform_ && has_stack_) {
      errors_.run(document_, "platform", [&] { take_profile_of_framework(); });
      stage_through_host();
    }
    if (settings_.trace)
      replay_trace();
    else if (settings_.traces)
      replay_traces();
    else
      errors_.run(document_, "model", [&] { trace_model(); });
    complete_step(resolved_);
    if (has_platform_ && has_stack_) errors_.run(document_, "software", [&] { read_software(); });
    errors_.run(document_, "random", [&] { read_random(); });
    if (settings_.learn && settings_.learn->data)
      errors_.run(document_, key_of(*settings_.learn->data), [&] { read_samples(*settings_.learn->data); });
    if (has_platform_) errors_.run(document_, "neighbours", [&] { read_neighbours(); });
    if (has_platform_ && has_stack_) errors_.run(document_, "stack", [&] { read_protocols(); });
    if (has_platform_) place_ranks();
    if (settings_.learn && resolved_.cluster && errors_.is_empty())
      errors_.run(document_, "learn", [&] {
        end_with_job(resolved_);
        check_learning_needs(resolved_);
      });
    if (settings_.one_gpu && errors_.is_empty())
      errors_.run(document_, "one_gpu", [&] { scale_to_one_gpu(resolved_); });
    if (errors_.is_empty() && files_.wants_published_errors) read_published_errors();
    errors_.finish();
    if (resolved_.name.empty()) resolved_.name = name_of_parts(resolved_);
    if (gpu_note_) resolved_.notes.push_back(*gpu_note_);
    return std::move(resolved_);
  }

private:
  /// A path is written into the resolved experiment so that it names the same file from any folder.
  fs::path find(config::Kind kind, std::string& name) {
    const fs::path found = find_once(files_, catalogue_, kind, name, file_);
    name = config::is_path(name) ? config::real_path(found).string() : found.stem().string();
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
    const Platform& platform = resolved_.platform;
    const fs::path gpu = profile_of(path);
    if (gpu.empty()) return;
    gpu_file_ = gpu;
    if (!config::is_path(platform.gpu_profile)) {
      resolved_.platform.gpu_profile = gpu.stem().string();
      const auto given = settings_.set.find("platform.node.gpus.profile");
      if (given != settings_.set.end()) given->second = platform.gpu_profile;
    }
    if (!files_.machines_exist)
      gpu_note_ =
          leave_out_price_of_other_gpus(load_once(files_, path), set_, resolved_.platform, settings_.set);
    const char* const other = platform.ranks_on_processors ? "gpu" : "processor";
    for (const auto& [key, item] : set_) {
      if (file_named_by(key) == other)
        errors_.run(document_, "platform",
                    [&] { throw InputError({unused_profile_key(platform, key, item)}); });
    }
    if (platform.ranks_on_processors) {
      errors_.run(document_, "platform", [&] {
        resolved_.gpu = load_processor_profile(load_with(files_, gpu, "processor", set_),
                                               platform.memory_mode, &resolved_.warnings);
        keep_op_times(resolved_.gpu);
      });
    } else {
      read_gpu(gpu);
    }
    if (resolved_.gpu.name.empty()) return;
    if (settings_.trace_times == TraceTimes::scaled)
      settings_.precision = precision_on(resolved_.gpu, settings_.precision);
    errors_.run(document_, "precision", [&] { matrix_dtype(resolved_.gpu, settings_.precision); });
  }

  /// The profile's file. An unknown name is reported where it is written: in the platform's file, the
  /// experiment's block `set` or on the command line; then empty.
  fs::path profile_of(const fs::path& platform_file) {
    const Platform& platform = resolved_.platform;
    try {
      return find_once(files_, catalogue_, profile_kind(platform), platform.gpu_profile, platform_file);
    } catch (const InputError& error) {
      const char* const key = platform.ranks_on_processors ? "node.processors.profile" : "node.gpus.profile";
      errors_.run(load_with(files_, platform_file, "platform", set_), key, [&] { throw InputError(error); });
      return {};
    }
  }

  void read_gpu(const fs::path& path) {
    resolved_.gpu = read(files_.gpus, path, "gpu", [](const config::Document& file, auto* warnings) {
      GpuProfile profile = load_gpu_profile(file, warnings);
      keep_op_times(profile);
      return profile;
    });
    for (const auto& table : {resolved_.gpu.kernels, resolved_.gpu.vector_kernels}) {
      if (table) files_.paths.insert((path.parent_path() / *table).string());
    }
    if (!resolved_.gpu.like_file.empty()) files_.paths.insert(resolved_.gpu.like_file);
  }

  /// Recorded ops are PyTorch's; other frameworks have kernels of their own, such as a fused batch norm.
  void take_profile_of_framework() {
    const std::string& framework = resolved_.stack.framework;
    if (!resolved_.gpu.outside_pytorch || framework.empty() || framework == "pytorch") return;
    if (resolved_.stack.runtime != Runtime::fused) return;  // rules of a lowering: libraries' products alone
    const std::string recorded = resolved_.gpu.name;
    read_gpu(find_once(files_, catalogue_, config::Kind::gpu, *resolved_.gpu.outside_pytorch, gpu_file_));
    resolved_.notes.push_back(fmt::format("{} has recorded ops of PyTorch: {} is predicted with {}", recorded,
                                          resolved_.stack.name, resolved_.gpu.name));
  }

  void read_stack() {
    const auto model = [&]() -> const config::Node& {
      return load_once(files_, find_once(files_, catalogue_, config::Kind::model, *settings_.model, file_))
          .root;
    };
    if (document_.name == command_line && !set_stack_ && has_platform_ && settings_.model &&
        has_software_of_today(resolved_, is_given("optimizer"), model))
      settings_.stack = "pytorch";
    const fs::path path = find(config::Kind::stack, settings_.stack);
    resolved_.stack = read(files_.stacks, path, "stack", load_stack);
    has_stack_ = true;
    require_usable(resolved_.stack, settings_);
    if (resolved_.stack.runtime == Runtime::fused) return;
    read_lowering(path);
  }

  /// `stack`: the file that names it.
  void read_lowering(const fs::path& stack) {
    const auto find_rules = [&](const std::string& name, const fs::path& named_in) {
      return find_once(files_, catalogue_, config::Kind::lowering, name, named_in);
    };
    const fs::path path = find_rules(resolved_.stack.lowering.value_or("pytorch_2_11"), stack);
    resolved_.lowering = files_.lowerings.get(path.string(), nullptr, [&](auto*) {
      return std::make_shared<const Lowering>(load_whole_lowering(
          load_once(files_, path), [&](const std::string& name, const std::string& named_in) {
            return load_once(files_, find_rules(name, named_in));
          }));
    });
    errors_.run(document_, "precision", [&] { require_lowered_precision(resolved_); });
    if (!settings_.parallelism || !settings_.model) return;
    can_lay_out_ = false;
    errors_.run(document_, "parallelism", [&] {
      check_lowered_layout(resolved_);
      can_lay_out_ = true;
    });
  }

  void read_software() {
    // The factors rest on runs of GPUs.
    if (has_platform_ && resolved_.platform.ranks_on_processors) return;
    if (resolved_.lowering) return;  // its times contain them already
    const fs::path path = find(config::Kind::software, settings_.software);
    const Software& software = files_.software.get(path.string(), &resolved_.warnings, [&](auto* warnings) {
      return load_software(load_once(files_, path), warnings);
    });
    if (!software.factors) return;
    files_.paths.insert((path.parent_path() / *software.factors).string());
    resolved_.stack.slowdown = slowdown_of(software, resolved_);
    resolved_.stack.slowdown.source = software.title;
  }

  void read_published_errors() {
    resolved_.published_errors =
        known_errors(catalogue_, fit_of(resolved_), has_layout_errors(resolved_), files_);
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
    require_no_model_keys(settings_.set);
    const fs::path path = config::beside(file_, name);
    files_.paths.insert(path.string());
    one.trace = read_trace(path.string(), config::read_file(path, largest_csv));
    one.file = path.string();
    resolved_.samples_per_epoch = same_samples(resolved_.samples_per_epoch, one.trace.samples_per_epoch);
    name = config::real_path(path).string();
  }

  void check_class(RankClass& one) {
    errors_.run(document_, "batch_per_gpu", [&] { check_batch(one.trace, settings_.batch_per_gpu); });
    const bool is_scaled = settings_.trace_times == TraceTimes::scaled;
    const Precision recorded = one.trace.precision.value_or(recorded_precision_);
    errors_.run(document_, "precision", [&] {
      const bool runs_as = is_scaled && precision_on(resolved_.gpu, recorded) == settings_.precision;
      check_precision(one.trace, runs_as ? recorded : recorded_precision_);
      require_no_8_bits(one, settings_.precision);
    });
    errors_.run(document_, "accumulation", [&] { check_accumulation(one.trace, settings_.accumulation); });
    if (has_stack_) errors_.run(document_, "stack", [&] { check_reductions(one.trace, resolved_.stack); });
    one.trace.precision = settings_.precision;
    if (is_scaled && has_platform_ && errors_.is_empty())
      errors_.run(document_, "trace_times",
                  [&] { scale_trace(resolved_, one.trace, recorded, catalogue_, files_); });
  }

  void replay_trace() {
    RankClass& all = resolved_.classes.front();
    errors_.run(document_, "trace", [&] {
      read_class(*settings_.trace, all);
      require_no_messages(all);
    });
    check_class(all);
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

  void trace_model() {
    const fs::path path = find(config::Kind::model, *settings_.model);
    if (const auto attention = attention_of_stack(resolved_, load_once(files_, path).root))
      set_.try_emplace(attention->first, FileOverride{.value = attention->second, .written_at = {}});
    const Model& model = resolved_.model.emplace(read(files_.models, path, "model", load_model));
    resolved_.samples_per_epoch = samples_per_epoch(model);
    if (!is_given("optimizer")) settings_.optimizer = model.optimizer;
    if (resolved_.lowering) {
      bool has_update = false;
      errors_.run(document_, "optimizer", [&] {
        require_lowered_update(resolved_);
        has_update = true;
      });
      can_lay_out_ = can_lay_out_ && has_update;
      if (!has_update) return;
    }
    if (settings_.precision == Precision::fp8)
      errors_.run(document_, "precision", [&] { require_8_bits(model.layers); });
    if (settings_.parallelism) return;  // place_ranks() makes the traces
    trace() = model_trace(resolved_, settings_.batch_per_gpu);
  }

  [[nodiscard]] bool is_given(std::string_view key) const {
    const config::Node* const node = document_.root.find(key);
    return node != nullptr && !config::is_unset(*node);
  }

  void read_random() {
    read_factor_files(settings_.random, file_, files_.paths);
    fill_in_means(settings_.random);
    if (has_platform_ && !resolved_.gpu.name.empty()) check_variation(settings_.random, resolved_.gpu);
  }

  void read_samples(LearningData& data) {
    find_samples(data, file_, files_.paths);
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

  void place_ranks() {
    errors_.run(document_, "nodes", [&] {
      if (auto note = keep_groups_whole(resolved_.platform, settings_))
        resolved_.notes.push_back(*std::move(note));
      fit_nodes(resolved_.platform, gpus_replace_nodes_, settings_);
      resolved_.cluster = cluster_for(resolved_.platform, settings_);
      if (!settings_.traces) resolved_.classes.front().ranks = all_ranks(*resolved_.cluster);
    });
    if (!resolved_.cluster) return;
    if (settings_.parallelism && has_stack_ && resolved_.model && can_lay_out_) {
      errors_.run(document_, "parallelism", [&] { lay_out(resolved_); });
    }
    if (settings_.parallelism && settings_.trace) {
      errors_.run(document_, "parallelism",
                  [&] { resolved_.grid = make_grid(*settings_.parallelism, resolved_.cluster->ranks()); });
    }
    if (settings_.traces) {
      errors_.run(document_, "traces", [&] {
        const Grid& grid = resolved_.grid.emplace(
            make_grid(settings_.parallelism.value_or(Parallelism{}), resolved_.cluster->ranks()));
        place_classes(resolved_.classes, *settings_.traces, grid);
      });
    }
    errors_.run(document_, "nodes", [&] { finish_classes(); });
    errors_.run(document_, "sync.grid", [&] { require_torus_grid(resolved_); });
    errors_.run(document_, "model", [&] { check_sparse_gradients(resolved_); });
    if (is_replay(settings_) || resolved_.model) {
      errors_.run(document_, "input", [&] { check_input(resolved_); });
      errors_.run(document_, "job", [&] { check_job_needs(resolved_); });
    }
    errors_.run(document_, "background", [&] {
      resolved_.network = shared_cluster(resolved_);
      check_background(resolved_);
    });
    if (resolved_.network) errors_.run(document_, "events", [&] { check_events(resolved_); });
  }

  /// The work and the notes that depend on the number of ranks.
  void finish_classes() {
    if (settings_.parallelism && !is_replay(settings_) && !resolved_.layout) return;
    add_work_of_ranks(resolved_);
    if (!has_stack_) return;
    resolved_.stack.slowest_gpu = slowest_gpu(resolved_);
    if (waits_for_slowest(resolved_)) settings_.random.gpus = GpuSpread::slowest;
    for (std::string& note : experiment_notes(resolved_, bypasses_gpu_links_))
      resolved_.notes.push_back(std::move(note));
  }

  const config::Catalogue& catalogue_;
  const config::Document& document_;
  fs::path file_;
  InputFiles& files_;
  FileOverrides set_;
  ErrorCollector errors_;
  ResolvedExperiment resolved_;
  Experiment& settings_ = resolved_.settings;
  Precision recorded_precision_{};  ///< as asked for, if traces are scaled to a GPU without its type
  fs::path gpu_file_;
  std::optional<std::string> gpu_note_;  ///< on price and power of swapped GPUs
  bool gpus_replace_nodes_ = false;
  bool set_stack_ = false;
  bool has_platform_ = false;
  bool has_stack_ = false;
  bool can_lay_out_ = true;          ///< the stack, ranks that share a model
  bool bypasses_gpu_links_ = false;  ///< the stack copies through host memory instead of using the platform's
                                     ///< links between GPUs
};

const config::Document& document_without_file() {
  static const config::Document document = config::parse(command_line, "stack: pytorch_ddp");
  return document;
}

}  // namespace

ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& name,
                           const Overrides& overrides) {
  InputFiles files;
  return resolve(catalogue, name, overrides, files);
}

const config::Document& experiment_document(const config::Catalogue& catalogue, const std::string& experiment,
                                            InputFiles& files) {
  if (experiment == no_file) return document_without_file();
  return load_experiment_once(files, catalogue,
                              find_once(files, catalogue, config::Kind::experiment, experiment));
}

ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& name,
                           const Overrides& overrides, InputFiles& files) {
  if (name == no_file) return resolve(catalogue, document_without_file(), {}, overrides, files);
  const fs::path file = find_once(files, catalogue, config::Kind::experiment, name);
  std::vector<Diagnostic> warnings;
  const config::Document& document = load_experiment_once(files, catalogue, file, &warnings);
  ResolvedExperiment resolved = of_job_or_experiment(
      document, file, [&] { return resolve(catalogue, document, file, overrides, files); });
  resolved.warnings.insert(resolved.warnings.begin(), warnings.begin(), warnings.end());
  if (const auto note = files.job_notes.find(file.string()); note != files.job_notes.end())
    resolved.notes.insert(resolved.notes.begin(), note->second);
  if (const auto notes = files.word_notes.find(file.string()); notes != files.word_notes.end())
    resolved.notes.insert(resolved.notes.begin(), notes->second.begin(), notes->second.end());
  return resolved;
}

ResolvedExperiment resolve(const config::Catalogue& catalogue, config::Document document,
                           const fs::path& file, const Overrides& overrides, InputFiles& files) {
  const std::vector<std::string> left_out = remove_replaced_keys(document, overrides);
  for (const auto& [key, value] : overrides) {
    if (file_named_by(key).empty()) config::set(document, key, value);
  }
  ask_for_learning(document, overrides);
  ResolvedExperiment resolved = Resolver(catalogue, document, file, files).resolved(overrides);
  resolved.changed = overrides;
  resolved.is_without_file = file.empty();
  resolved.notes.insert(resolved.notes.begin(), left_out.begin(), left_out.end());
  return resolved;
}

}  // namespace trainyard
