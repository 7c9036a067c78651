#pragma once
// Layers whose kernels a framework launches as CUDA graphs, while it launches those of other layers one by
// one. Source: NVIDIA/Megatron-LM b0cc2706 (core_v0.16), megatron/core/transformer/transformer_layer.py and
// moe/moe_layer.py, cuda_graph_scope of Transformer Engine's graphs.

#include "config/keys.hpp"
#include "lowering/lowering_rules.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace trainyard {

/// Parts of a block that are launched as one graph each.
enum class GraphedPart { attn, moe_router, moe_preprocess };

/// In a trace made from `layers`, leaves one launch to each part of a block in each phase: the graph's, with
/// the first of its ops. `graph`: its time of the host. Neighbouring parts are one graph, as in
/// Megatron-Core.
void launch_parts_as_graphs(Trace& trace, const std::vector<Layer>& layers,
                            const std::vector<GraphedPart>& parts, Seconds graph);

namespace config {

template <>
struct Names<GraphedPart> {
  static constexpr std::string_view what = "part of a block that is a CUDA graph";
  static constexpr std::array table{
      Name{"attn", GraphedPart::attn, "the first half: its norm, attention and the residual sum"},
      Name{"moe_router", GraphedPart::moe_router,
           "the norm in front of experts, the router and shared experts"},
      Name{"moe_preprocess", GraphedPart::moe_preprocess,
           "the dispatcher's work on the router's choice, before tokens are copied"}};
};

}  // namespace config
}  // namespace trainyard
