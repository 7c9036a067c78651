#include "experiment/resolve.hpp"

#include "accuracy/expected_error.hpp"
#include "config/file_paths.hpp"
#include "config/read.hpp"
#include "config/read_file.hpp"
#include "config/write.hpp"
#include "experiment/class_traces.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/eight_bit_stack.hpp"
#include "experiment/experiment_notes.hpp"
#include "experiment/experiment_reading.hpp"
#include "experiment/job_needs.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/lay_out.hpp"
#include "experiment/learning_needs.hpp"
#include "experiment/lowered_stack.hpp"
#include "experiment/model_trace.hpp"
#include "experiment/namesake.hpp"
#include "experiment/neighbours.hpp"
#include "experiment/one_gpu.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/read_factors.hpp"
#include "experiment/read_machine.hpp"
#include "experiment/replaced_keys.hpp"
#include "experiment/scaled_trace.hpp"
#include "experiment/shared_network.hpp"
#include "experiment/slowest_gpu.hpp"
#include "experiment/software_use.hpp"
#include "experiment/sparse_gradients.hpp"
#include "experiment/stack_rules.hpp"
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
      : in_{.catalogue = catalogue, .document = document, .file = std::move(file), .files = files} {
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
    errors_.run(document_, "platform", [&] { read_machine(in_, machine_); });
    errors_.run(document_, "stack", [&] { read_stack(); });
    if (machine_ && has_stack_) {
      errors_.run(document_, "platform", [&] { take_profile_of_framework(in_, machine_->profile); });
      stage_through_host();
    }
    if (settings_.trace)
      replay_trace();
    else if (settings_.traces)
      replay_traces();
    else
      errors_.run(document_, "model", [&] { trace_model(); });
    complete_step(resolved_);
    if (machine_ && has_stack_) errors_.run(document_, "software", [&] { read_software(); });
    errors_.run(document_, "random", [&] { read_random(); });
    if (settings_.learn && settings_.learn->data)
      errors_.run(document_, key_of(*settings_.learn->data), [&] { read_samples(*settings_.learn->data); });
    if (machine_) errors_.run(document_, "neighbours", [&] { read_neighbours(); });
    if (machine_ && has_stack_) errors_.run(document_, "stack", [&] { read_protocols(); });
    if (machine_) place_ranks();
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
    if (machine_->note) resolved_.notes.push_back(*machine_->note);
    return std::move(resolved_);
  }

private:
  void read_stack() {
    const auto model = [&]() -> const config::Node& {
      return load_once(files_, find_once(files_, catalogue_, config::Kind::model, *settings_.model, file_))
          .root;
    };
    const bool may_choose = document_.name == command_line && !set_stack_ && machine_ && settings_.model;
    if (may_choose && is_narrow(settings_.precision)) settings_.stack = "transformer_engine";
    if (may_choose && has_software_of_today(resolved_, in_.is_given("optimizer"), model))
      settings_.stack = "pytorch";
    const fs::path path = in_.find(config::Kind::stack, settings_.stack);
    resolved_.stack = in_.read(files_.stacks, path, "stack", load_stack);
    has_stack_ = true;
    errors_.run(document_, "parallelism", [&] { take_sharding_of_stack(); });
    take_exposure_of_units();
    require_usable(resolved_.stack, settings_);
    if (resolved_.stack.runtime != Runtime::fused) read_lowering(path);
    errors_.run(document_, "precision", [&] { require_8_bits_of_stack(resolved_); });
    errors_.run(document_, "stack", [&] {
      if (auto problem = unused_scales(resolved_, set_)) throw InputError({*std::move(problem)});
    });
  }

  /// 0 if there is none: place_ranks() says why.
  [[nodiscard]] int number_of_ranks() const {
    Experiment placed = settings_;
    try {
      fit_nodes(resolved_.platform, gpus_replace_nodes_, placed);
      return cluster_for(resolved_.platform, placed)->ranks();
    } catch (const InputError&) {
      return 0;
    }
  }

  /// Replicas divide the state that the stack names, unless the experiment names one. A job of one replica
  /// has nothing to divide, and one of several stages is left as it is.
  void take_sharding_of_stack() {
    const std::optional<Sharded> usual = resolved_.stack.shard;
    if (!usual || !settings_.model || is_replay(settings_) || !machine_) return;
    if (settings_.sync.kind != SyncKind::all_reduce || has_servers(settings_.sync)) return;
    const config::Node* const block = document_.root.find("parallelism");
    const config::Node* const stated = block == nullptr ? nullptr : block->find("shard");
    if (stated != nullptr) return;  // `none` is a value of it
    const Parallelism parallelism = settings_.parallelism.value_or(Parallelism{});
    if (!parallelism.layers.empty() || parallelism.pipeline > 1) return;
    if (number_of_ranks() <= parallelism.tensor) return;
    settings_.parallelism = parallelism;
    settings_.parallelism->shard = *usual;
    resolved_.notes.push_back(
        fmt::format("replicas divide the {}, as {} does by default (parallelism.shard: {})",
                    *usual == Sharded::optimizer ? "optimizer's state" : config::name_of(*usual),
                    resolved_.stack.name, config::name_of(*usual)));
  }

  /// Without overlap, kernels of other blocks hide nothing of a unit's collectives. A job that says so
  /// overrules a stack whose `overlap` is that of buckets alone, as its units.ahead says.
  void take_exposure_of_units() {
    const auto given = set_.find("stack.overlap");
    const bool is_given = given != set_.end();
    UnitRules& units = resolved_.stack.units;
    const Sharded shard = settings_.parallelism ? settings_.parallelism->shard : Sharded::none;
    if (resolved_.stack.overlap || !has_units(resolved_.stack, shard)) return;
    if (is_given) units.ahead = GatheredAhead::block;
    if (units.of != UnitOf::size || units.ahead != GatheredAhead::block) return;
    Diagnostic problem = (is_given ? given->second.written_at : std::nullopt).value_or(Diagnostic{});
    problem.severity = Severity::warning;
    problem.key_path = "stack.overlap";
    problem.message = "layers of a block are gathered while others of it run, all the same";
    problem.hint = "stack.units.unit: block, which hides nothing";
    resolved_.warnings.push_back(std::move(problem));
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
    if (!settings_.parallelism || !settings_.model) return;
    can_lay_out_ = false;
    errors_.run(document_, "parallelism", [&] {
      check_lowered_layout(resolved_);
      can_lay_out_ = true;
    });
  }

  void read_software() {
    // The factors rest on runs of GPUs.
    if (machine_ && resolved_.platform.ranks_on_processors) return;
    if (resolved_.lowering) return;  // its times contain them already
    const fs::path path = in_.find(config::Kind::software, settings_.software);
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
    if (is_scaled && machine_ && errors_.is_empty())
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
    const fs::path path = in_.find(config::Kind::model, *settings_.model);
    const config::Node& file = load_once(files_, path).root;
    if (const auto attention = attention_of_stack(resolved_, file); !set_.contains(attention.key)) {
      if (!attention.note.empty()) resolved_.notes.push_back(attention.note);
      if (!attention.value.empty())
        set_.emplace(attention.key, FileOverride{.value = attention.value, .written_at = {}});
    }
    Model& model = resolved_.model.emplace(in_.read(files_.models, path, "model", load_model));
    resolved_.samples_per_epoch = samples_per_epoch(model);
    if (is_namesake(in_, path))
      model.name += "_of_other_sizes";  // published runs of that name are not its own
    if (!in_.is_given("optimizer")) settings_.optimizer = model.optimizer;
    if (resolved_.lowering) {
      bool has_update = false;
      errors_.run(document_, "optimizer", [&] {
        require_lowered_update(resolved_);
        has_update = true;
      });
      can_lay_out_ = can_lay_out_ && has_update;
      if (!has_update) return;
    }
    if (is_narrow(settings_.precision))
      errors_.run(document_, "precision", [&] { require_8_bits(model.layers); });
    if (settings_.parallelism) return;  // place_ranks() makes the traces
    trace() = model_trace(resolved_, settings_.batch_per_gpu);
  }

  void read_random() {
    read_factor_files(settings_.random, file_, files_.paths);
    fill_in_means(settings_.random);
    if (machine_ && !resolved_.gpu.name.empty()) check_variation(settings_.random, resolved_.gpu);
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
      const fs::path path = in_.find(config::Kind::experiment, neighbour);
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

  ExperimentReading in_;
  const config::Catalogue& catalogue_ = in_.catalogue;
  const config::Document& document_ = in_.document;
  const fs::path& file_ = in_.file;
  InputFiles& files_ = in_.files;
  FileOverrides& set_ = in_.set;
  ErrorCollector& errors_ = in_.errors;
  ResolvedExperiment& resolved_ = in_.resolved;
  Experiment& settings_ = resolved_.settings;
  Precision recorded_precision_{};  ///< as asked for, if traces are scaled to a GPU without its type
  std::optional<Machine> machine_;  ///< none: the platform cannot be read
  bool gpus_replace_nodes_ = false;
  bool set_stack_ = false;
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
