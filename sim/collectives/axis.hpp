#pragma once
// The axes along which ranks share the work of a model. Each axis divides the ranks of a job into groups
// (strategy/grid.hpp) whose members exchange data.

#include "config/traits.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class Axis { all, data, tensor, context, expert, expert_data, layer, layer_data, pipeline };

/// The members of an axis's groups.
enum class Members {
  ranks,     ///< no part of a model is theirs alone
  replicas,  ///< they hold copies of parameters, whose gradients they sum
  layers,    ///< they share every layer, and communicate in it
  parts      ///< they share the model otherwise
};

struct AxisTraits {
  Members members{};
  std::string_view key = {};  ///< of `parallelism`, that forms the groups; empty: every job has them
  bool spans_stages = false;  ///< members hold different stages of a pipeline
  std::string_view sums = "gradients";  ///< of replicas: the gradients that they sum, in messages

  [[nodiscard]] constexpr bool are_replicas() const { return members == Members::replicas; }
  [[nodiscard]] constexpr bool share_model() const {
    return members == Members::layers || members == Members::parts;
  }
};

inline constexpr std::array parallel_axes{
    config::Row{"all", Axis::all, "all ranks of the job",
                AxisTraits{.members = Members::ranks, .spans_stages = true}},
    config::Row{"data", Axis::data,
                "replicas: ranks that hold the same parameters and read different samples",
                AxisTraits{.members = Members::replicas}},
    config::Row{"tensor", Axis::tensor, "ranks that share every layer",
                AxisTraits{.members = Members::layers, .key = "tensor"}},
    config::Row{"context", Axis::context, "ranks that share the tokens of a sample",
                AxisTraits{.members = Members::layers, .key = "context"}},
    config::Row{"expert", Axis::expert, "ranks that share the experts of a layer",
                AxisTraits{.members = Members::layers, .key = "expert"}},
    config::Row{"expert_data", Axis::expert_data, "replicas of experts: ranks that hold the same experts",
                AxisTraits{.members = Members::replicas, .key = "expert", .sums = "gradients of experts"}},
    config::Row{"layer", Axis::layer, "ranks that divide layers among themselves",
                AxisTraits{.members = Members::parts, .key = "layer_group"}},
    config::Row{"layer_data", Axis::layer_data,
                "replicas of model-parallel layers: ranks that hold the same part of the layers",
                AxisTraits{.members = Members::replicas,
                           .key = "layer_group",
                           .sums = "gradients of model-parallel layers"}},
    config::Row{"pipeline", Axis::pipeline, "ranks that hold consecutive stages of the model",
                AxisTraits{.members = Members::parts, .key = "pipeline", .spans_stages = true}}};

constexpr const AxisTraits& traits(Axis axis) { return config::traits_in<parallel_axes>(axis); }

}  // namespace trainyard

template <>
struct trainyard::config::Names<trainyard::Axis> {
  static constexpr std::string_view what = "axis of parallelism";
  static constexpr std::array table = names_in<parallel_axes>();
};
