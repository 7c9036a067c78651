#pragma once
// The layouts that a search may choose from: every combination of the axes' values that a model and a number
// of GPUs allow.

#include "experiment/resolve.hpp"
#include "strategy/parallelism.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// How the ranks share the model and the batch.
struct PlanLayout {
  Parallelism parallelism;
  int micro_batch = 1;    ///< samples: the key batch_per_gpu
  int micro_batches = 1;  ///< of a replica in a step: the key accumulation
};

/// A key of the layout, and the values that are tried.
struct LayoutAxis {
  std::string key;  ///< "parallelism.tensor"
  std::vector<std::string> values;
};

/// The key of an axis that a user may give values for, in the order in which plans name them. The number of
/// micro-batches follows from the others and the global batch.
bool is_layout_key(std::string_view key);

/// The axes of a job without a layout: values in `given`, or by default
/// - tensor: divisors of the GPUs of a node; pipeline: divisors of the ranks, not more than the model's
///   blocks; virtual stages: up to 16 that divide the blocks, and powers of two where pipelines do not
/// - context: powers of two that leave each rank at least 2,048 tokens of a sample
/// - expert: divisors of the number of experts, not more than the ranks
/// - sequence parallelism: with and without; recomputation: none, full, and selective where attention keeps
///   scores; sharded state: every kind
/// - micro-batches: divisors of the global batch.
/// Each value once.
/// A model without blocks is not divided: its ranks are replicas. One that reads no tokens has no tensor and
/// context ranks. Throws InputError for a value that is none of its key.
std::vector<LayoutAxis> layout_axes(const ResolvedExperiment& base, const std::vector<LayoutAxis>& given,
                                    int global_batch);

/// Every combination of the axes' values that divides the ranks, the model's experts and the global batch
/// evenly, and the model's blocks: evenly, or, into a number of stages that does not divide them, as evenly
/// as possible, if no chunk has more than a quarter above the mean. Where every parameter is held once and
/// there is nothing to shard, once for all values of `shard`. In the order of the axes, the last of
/// which changes fastest. `own`: settings of the job's layout that are not axes, such as the order of the
/// ranks.
std::vector<PlanLayout> layouts(const ResolvedExperiment& base, const Parallelism& own,
                                const std::vector<LayoutAxis>& axes, int global_batch);

/// The keys of a layout in a plan: those of the axes, with pipelines whether stages are unequal, and
/// accumulation.
std::vector<std::string> layout_keys(const std::vector<LayoutAxis>& axes);

/// The values of these keys.
std::vector<std::string> layout_values(const std::vector<LayoutAxis>& axes, const PlanLayout& layout);

}  // namespace trainyard
