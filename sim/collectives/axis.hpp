#pragma once
// The axes along which ranks share the work of a model. Each axis divides the ranks of a job into groups
// (strategy/grid.hpp) whose members exchange data.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class Axis { all, data, tensor, context, expert, pipeline };

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
      Name{"pipeline", Axis::pipeline, "ranks that hold consecutive stages of the model"}};
};

}  // namespace trainyard::config
