#pragma once
// The properties of a run that decide how comparable two runs are.

#include "strategy/software.hpp"
#include "units/memo.hpp"
#include "units/quantity.hpp"
#include "workload/model_kind.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// How the ranks of a job share its model.
struct LayoutUse {
  int tensor = 1, context = 1, pipeline = 1, virtual_stages = 1, expert = 1;
  int micro_batches = 1;      ///< of a step, for each replica
  int tokens = 0;             ///< of a micro-batch
  double parameters = 0;      ///< of the whole model
  bool has_experts = false;   ///< the model is a mixture of experts
  std::string schedule = {};  ///< as `parallelism` names it; likewise the next two
  std::string recompute = {};
  std::string sharded = {};  ///< "none" without replicas
  friend bool operator==(const LayoutUse&, const LayoutUse&) = default;
};

struct Circumstances {
  SoftwareUse use = {};
  std::string platform = {};
  int gpus = 1;
  int nodes = 1;
  int batch_per_gpu = 1;                 ///< of one replica, if ranks share the model
  std::optional<LayoutUse> layout = {};  ///< if ranks share the model
  /// Replicas divide some layers, such as embedding tables, and each rank has the rest whole: no layout. Only
  /// tables without layouts have a column for it.
  bool divides_layers = false;
  /// Products of matrices are in 8 bits, which `use.precision` calls "16bit": the software's factors are the
  /// same. Tables of errors have a column for it only with a layout; no other published run is in 8 bits.
  bool has_fp8 = false;
  ModelKind kind = ModelKind::other;
  /// A framework's ops were recorded on the GPU, so that no factor fitted to published runs holds for them.
  bool has_recorded_kernels = false;
  Seconds mean_op = {};  ///< of an op of forward and backward passes, kernels alone
  friend bool operator==(const Circumstances&, const Circumstances&) = default;
};

/// "bert_large" of "bert_large@384".
constexpr std::string_view without_length(std::string_view model) { return model.substr(0, model.find('@')); }

struct CircumstancesHash {
  std::size_t operator()(const Circumstances& of) const {
    return hash_of_all(of.platform, of.gpus, of.nodes, of.batch_per_gpu, of.use.model, of.use.stack,
                       of.use.precision, of.layout ? of.layout->tokens : 0);
  }
};

}  // namespace trainyard
