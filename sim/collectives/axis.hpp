#pragma once
// The axes along which ranks share the work of a model. Each axis divides the ranks of a job into groups
// (strategy/grid.hpp) whose members exchange data.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class Axis { all, data, tensor, context, expert, expert_data, layer, layer_data, pipeline };

/// Whether the ranks of a group hold copies of parameters, whose gradients they sum.
constexpr bool is_of_replicas(Axis axis) {
  return axis == Axis::data || axis == Axis::expert_data || axis == Axis::layer_data;
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Axis> {
  static constexpr std::string_view what = "axis of parallelism";
  static constexpr std::array table{
      Name{"all", Axis::all, "all ranks of the job"},
      Name{"data", Axis::data, "replicas: ranks that hold the same parameters and read different samples"},
      Name{"tensor", Axis::tensor, "ranks that share every layer"},
      Name{"context", Axis::context, "ranks that share the tokens of a sample"},
      Name{"expert", Axis::expert, "ranks that share the experts of a layer"},
      Name{"expert_data", Axis::expert_data, "replicas of experts: ranks that hold the same experts"},
      Name{"layer", Axis::layer, "ranks that divide layers among themselves"},
      Name{"layer_data", Axis::layer_data,
           "replicas of model-parallel layers: ranks that hold the same part of the layers"},
      Name{"pipeline", Axis::pipeline, "ranks that hold consecutive stages of the model"}};
};

}  // namespace trainyard::config
