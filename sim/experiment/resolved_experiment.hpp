#pragma once
// An experiment whose files have all been read and checked: the input of the simulation. resolve() makes it.

#include "accuracy/published_errors.hpp"
#include "collectives/library.hpp"
#include "compute/gpu_profile.hpp"
#include "config/diagnostic.hpp"
#include "experiment/experiment.hpp"
#include "experiment/layout.hpp"
#include "experiment/overrides.hpp"
#include "platform/cluster.hpp"
#include "strategy/rank_class.hpp"
#include "strategy/stack.hpp"
#include "workload/model.hpp"
#include "workload/model_kind.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct LearningSets;  // learn/samples.hpp
struct Lowering;      // lowering/lowering_rules.hpp

struct ResolvedExperiment {
  std::string name;        ///< the stem of its file; without a file, the names of its model and platform
  Overrides changed = {};  ///< set on the command line, so it differs from the file of this name
  bool is_without_file = false;  ///< these say everything
  Experiment settings;           ///< its keys with all defaults filled in and overrides applied
  Platform platform;
  GpuProfile gpu;
  Stack stack;
  std::shared_ptr<const Lowering> lowering = {};  ///< the stack's; null if its runtime is fused
  bool recomputes = false;           ///< with a lowering: each block computes its forward pass twice
  CollectiveSoftware library;        ///< the stack's communication library on this platform
  std::optional<RankLayout> layout;  ///< if the ranks share a model
  std::optional<Grid> grid;          ///< the groups of a trace's collectives
  /// At least one; of all ranks, each rank in one; in the order of their first ranks.
  std::vector<RankClass> classes = std::vector<RankClass>(1);
  std::optional<std::string> scaled_from = {};  ///< the GPU whose recorded times are scaled to `gpu`
  ModelKind trace_kind = ModelKind::other;      ///< of a scaled trace, if it names a shipped model
  std::optional<Model> model;  ///< the source of the traces; none if the experiment replays a trace
  std::optional<double> samples_per_epoch;
  std::vector<ResolvedExperiment> neighbours;  ///< of the experiment, on the same platform
  /// The ranks of the experiment, and the same with the nodes of neighbours and of background traffic. Routes
  /// are built once for all users.
  std::shared_ptr<const Cluster> cluster, network;
  std::shared_ptr<const LearningSets> learning_sets;        ///< of `learn`; null if that needs no data
  std::shared_ptr<const PublishedErrors> published_errors;  ///< of the fit in use; null if not installed
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;  ///< for the reader of the result
};

/// The class of a job whose ranks are all alike. Throws std::logic_error if there are several.
const RankClass& only_class(const ResolvedExperiment& resolved);

/// Copies of the model that the job trains: its ranks, unless they share a model.
int replicas(const ResolvedExperiment& resolved);

/// Whether one rank alone does not hold all of the model, or ranks replay traces of their own.
bool shares_model(const ResolvedExperiment& resolved);

/// Whether replicas divide layers, and share the model in no other way.
bool divides_layers_alone(const ResolvedExperiment& resolved);

/// The keys set on the command line, with their values: "nodes=4, platform.fabric.nic=25 Gbps". Without an
/// experiment's file, those besides the job that a title describes: model, machine, software and batch.
std::string changed_keys(const ResolvedExperiment& resolved);

/// "vgg16 on minsky", for an experiment without a file.
std::string name_of_parts(const ResolvedExperiment& resolved);

/// The class of a rank of the job.
const RankClass& class_of(const ResolvedExperiment& resolved, Rank rank);

/// Takes fewer GPUs of each node than it has, of a job that states their number in all and not that of each
/// node, where groups of ranks would straddle nodes and the job's nodes are enough. Returns a note about it.
std::optional<std::string> keep_groups_whole(const Platform& platform, Experiment& settings);

/// Requires ranks on all nodes or, where somebody else than the file asks for GPUs, makes its nodes as many
/// as these fill. Throws InputError.
void fit_nodes(const Platform& platform, bool gpus_replace_nodes, Experiment& settings);

/// The placement of these settings' ranks on the platform. Throws InputError if there are fewer GPUs.
std::shared_ptr<const Cluster> cluster_for(const Platform& platform, const Experiment& settings);

}  // namespace trainyard
