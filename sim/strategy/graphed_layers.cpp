#include "strategy/graphed_layers.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace trainyard {
namespace {

bool is_of(GraphedPart part, const Op& op, const Layer& layer) {
  const std::string& name = layer.name;
  const auto contains = [&](const char* piece) { return name.find(piece) != std::string::npos; };
  switch (part) {
    case GraphedPart::attn:
      return contains(".attn.") || name.ends_with(".ln1") || name.ends_with(".drop1") ||
             name.ends_with(".add1");
    case GraphedPart::moe_router:
      return name.ends_with(".ln2") || name.ends_with(".moe.router") || name.ends_with(".moe.topk") ||
             contains(".moe.shared.");
    case GraphedPart::moe_preprocess:
      return name.ends_with(".moe.permute") && op.kind == OpKind::elementwise;
  }
  return false;
}

}  // namespace

void launch_parts_as_graphs(Trace& trace, const std::vector<Layer>& layers,
                            const std::vector<GraphedPart>& parts, Seconds graph) {
  if (parts.empty()) return;
  std::optional<int> open;  // the block whose graph the op before is part of
  Phase phase = Phase::forward;
  for (Op& op : trace.ops) {
    const Layer* const layer = op.of_layer < 0 ? nullptr : &layers[static_cast<std::size_t>(op.of_layer)];
    const bool is_graphed =
        layer != nullptr && layer->block && op.phase != Phase::optimizer &&
        std::ranges::any_of(parts, [&](GraphedPart part) { return is_of(part, op, *layer); });
    if (!is_graphed) {
      open.reset();
      continue;
    }
    op.host = open == layer->block && phase == op.phase ? Seconds() : graph;
    open = layer->block;
    phase = op.phase;
  }
}

}  // namespace trainyard
