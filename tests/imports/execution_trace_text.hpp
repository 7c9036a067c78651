#pragma once
// Execution traces as ExecutionTraceObserver writes them, of the step in kineto_text.hpp.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::testing {

using TraceNode = nlohmann::ordered_json;

/// A tensor of floats on the GPU.
inline TraceNode traced_tensor(int id, int storage, std::uint64_t elements,
                               const std::string& device = "cuda:0") {
  return TraceNode::array({id, storage, 0, elements, 4, device});
}

struct TracedOperands {
  TraceNode values = TraceNode::array(), shapes = TraceNode::array(), types = TraceNode::array();
  TraceNode outputs = TraceNode::array();
};

/// A node of schema 1.0.1. Threads: 1 is the main one, 2 that of the backward pass.
inline TraceNode traced_node(std::uint64_t id, std::uint64_t parent, const std::string& name, int thread,
                             const TracedOperands& operands = {}) {
  const bool is_range = name.starts_with("Prof") || name.starts_with("Opt") || name.starts_with("##");
  return {{"name", name},
          {"id", id},
          {"rf_id", id + 1000},
          {"parent", parent},
          {"fw_parent", 0},
          {"seq_id", -1},
          {"scope", is_range ? 7 : 0},
          {"tid", thread},
          {"fw_tid", thread == 2 ? 1 : 0},
          {"op_schema", name.ends_with('_') ? "x(Tensor(a!) self) -> Tensor(a!)" : ""},
          {"inputs", operands.values},
          {"input_shapes", operands.shapes},
          {"input_types", operands.types},
          {"outputs", operands.outputs},
          {"output_shapes", TraceNode::array()},
          {"output_types", TraceNode::array()}};
}

/// A linear layer and a ReLU on 8 samples, their backward passes, an all-reduce and an update.
inline std::vector<TraceNode> traced_step() {
  const auto roots = [](std::uint64_t id, std::uint64_t parent, int thread) {
    TraceNode node = traced_node(id, parent, "[pytorch|profiler|execution_trace|thread]", thread);
    node["rf_id"] = 0;
    return node;
  };
  const TraceNode floats = {"Tensor(float)", "Tensor(float)", "Tensor(float)"};
  const TracedOperands linear{
      {traced_tensor(50, 60, 128), traced_tensor(51, 61, 64), traced_tensor(52, 62, 4)},
      {{8, 16}, {4, 16}, TraceNode::array({4})},
      floats,
      TraceNode::array({traced_tensor(53, 63, 32)})};
  const TracedOperands addmm{
      {traced_tensor(52, 62, 4), traced_tensor(50, 60, 128), traced_tensor(51, 61, 64)},
      {TraceNode::array({4}), {8, 16}, {16, 4}},
      floats,
      TraceNode::array({traced_tensor(53, 63, 32)})};
  const TracedOperands vector{TraceNode::array({traced_tensor(53, 63, 32)}), TraceNode::array({{8, 4}}),
                              TraceNode::array({"Tensor(float)"}),
                              TraceNode::array({traced_tensor(54, 64, 32)})};
  const TracedOperands product{{traced_tensor(55, 65, 32), traced_tensor(50, 60, 128)},
                               {{4, 8}, {8, 16}},
                               {"Tensor(float)", "Tensor(float)"},
                               TraceNode::array({traced_tensor(56, 66, 64)})};
  const TracedOperands weight{TraceNode::array({traced_tensor(56, 66, 64)}), TraceNode::array({{4, 16}}),
                              TraceNode::array({"Tensor(float)"})};
  const TracedOperands bias{TraceNode::array({traced_tensor(57, 67, 4)}),
                            TraceNode::array({TraceNode::array({4})}), TraceNode::array({"Tensor(float)"})};
  const TracedOperands bucket{
      {TraceNode::array({traced_tensor(58, 68, 68)}), 7, 99, 0, "allreduce", TraceNode::array(),
       TraceNode::array(), 2},
      {TraceNode::array({TraceNode::array({68})}), TraceNode::array(), TraceNode::array()},
      {"GenericList[Tensor(float)]", "Int", "Int"},
      TraceNode::array({TraceNode::array({traced_tensor(58, 68, 68)})})};
  TracedOperands update = weight;
  update.outputs = weight.values;
  return {roots(1, 1, 1),
          traced_node(3, 1, "aten::linear", 1, linear),
          traced_node(4, 3, "aten::addmm", 1, addmm),
          traced_node(6, 1, "aten::relu", 1, vector),
          roots(10, 1, 2),
          traced_node(11, 10, "autograd::engine::evaluate_function: ReluBackward0", 2),
          traced_node(12, 11, "aten::threshold_backward", 2, vector),
          traced_node(14, 10, "autograd::engine::evaluate_function: AddmmBackward0", 2),
          traced_node(15, 14, "aten::mm", 2, product),
          traced_node(17, 10, "torch::autograd::AccumulateGrad", 2, weight),
          traced_node(18, 10, "torch::autograd::AccumulateGrad", 2, bias),
          traced_node(20, 10, "record_param_comms", 2, bucket),
          traced_node(30, 1, "Optimizer.step#SGD.step", 1),
          traced_node(31, 30, "aten::_foreach_add_", 1, update)};
}

/// The node as schema 1.0.2 and later has it.
inline TraceNode nested(const TraceNode& flat) {
  TraceNode attributes = TraceNode::array();
  for (const char* name : {"rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema"})
    attributes.push_back({{"name", name}, {"type", "any"}, {"value", flat[name]}});
  return {{"id", flat["id"]},
          {"name", flat["name"]},
          {"ctrl_deps", flat["parent"]},
          {"inputs",
           {{"values", flat["inputs"]}, {"shapes", flat["input_shapes"]}, {"types", flat["input_types"]}}},
          {"outputs",
           {{"values", flat["outputs"]}, {"shapes", flat["output_shapes"]}, {"types", flat["output_types"]}}},
          {"attrs", attributes}};
}

inline std::string execution_trace_text(const std::vector<TraceNode>& nodes,
                                        const std::string& schema = "1.0.1") {
  return TraceNode({{"schema", schema}, {"pid", 9}, {"time", "2024"}, {"nodes", nodes}}).dump(1);
}

}  // namespace trainyard::testing
