#include "strategy/layer_copies.hpp"

#include "strategy/provenance_source.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// How a group's ranks spread: ranks on one node, ranks elsewhere and their nodes; and such groups on the
/// node.
struct Spread {
  int near = 1, far = 0, far_nodes = 0, groups = 1;
};

Spread spread_of(int ranks, int per_node) {
  const int near = std::min(ranks, per_node);
  return {.near = near,
          .far = ranks - near,
          .far_nodes = (ranks + near - 1) / near - 1,
          .groups = std::max(1, per_node / near)};
}

}  // namespace

int copies_of_all_to_all(int ranks, int per_node) {
  const auto [near, far, far_nodes, groups] = spread_of(ranks, per_node);
  return groups * near * (near - 1 + far + far_nodes);
}

Bytes copied_by_all_to_all(Bytes size, int ranks, int per_node) {
  const auto [near, far, far_nodes, groups] = spread_of(ranks, per_node);
  return groups * near * (near - 1 + 2 * far) * (size / ranks);
}

void add_layer_copies(Trace& trace, const Stack& stack, DividingRanks among, int per_node,
                      Bandwidth through_host) {
  if (!stack.layer_copies || among.count < 2) return;
  const bool is_in_node = among.count <= per_node;
  const auto is_copied = [&](const OpCommunication& communication) {
    return communication.operation == Operation::all_to_all && communication.axis == among.axis();
  };
  const auto copies_of = [&](const Op& op, Bytes size) {
    Op copies;
    copies.phase = op.phase;
    copies.layer = op.layer + ".copies";
    copies.of_layer = op.of_layer;
    copies.kind = OpKind::host;
    copies.duration = copies_of_all_to_all(among.count, per_node) * stack.layer_copies->value +
                      copied_by_all_to_all(size, among.count, per_node) / through_host;
    copies.source = ComputeSource::roofline;  // starts and bytes together, neither of them measured here
    return copies;
  };
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    std::vector<OpCommunication> kept;
    std::vector<Op> after;
    for (const OpCommunication& communication : op.communications) {
      if (!is_copied(communication)) {
        kept.push_back(communication);
      } else if (communication.at == LaunchTime::start) {
        ops.push_back(copies_of(op, communication.size));
        if (!is_in_node) kept.push_back(communication);
      } else {
        after.push_back(copies_of(op, communication.size));
        if (!is_in_node) after.back().communications.push_back(communication);
      }
    }
    op.communications = std::move(kept);
    ops.push_back(std::move(op));
    std::ranges::move(after, std::back_inserter(ops));
  }
  trace.ops = std::move(ops);
}

}  // namespace trainyard
