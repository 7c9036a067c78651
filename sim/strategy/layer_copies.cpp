#include "strategy/layer_copies.hpp"

#include "strategy/provenance_source.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// Ranks of a group on one node, such groups on the node, and other nodes on which a group has ranks.
struct Spread {
  int near = 1, groups = 1, far_nodes = 0;
};

Spread spread_of(int ranks, int per_node) {
  const int near = std::min(ranks, per_node);
  return {near, std::max(1, per_node / near), (ranks + near - 1) / near - 1};
}

}  // namespace

int copies_of_all_to_all(int ranks, int per_node) {
  const auto [near, groups, far_nodes] = spread_of(ranks, per_node);
  return groups * near * (near - 1 + far_nodes * (near + 1));
}

Bytes copied_by_all_to_all(Bytes size, int ranks, int per_node) {
  const auto [near, groups, far_nodes] = spread_of(ranks, per_node);
  return groups * near * (near - 1 + far_nodes * 2 * near) * (size / ranks);
}

void add_layer_copies(Trace& trace, const Stack& stack, DividingRanks among, int per_node) {
  if (!stack.layer_copies || among.count < 2) return;
  const auto is_copied = [&](const OpCommunication& communication) {
    return communication.operation == Operation::all_to_all && communication.axis == among.axis();
  };
  const auto starts_of = [&](const Op& op) {
    Op starts;
    starts.phase = op.phase;
    starts.layer = op.layer + ".copies";
    starts.of_layer = op.of_layer;
    starts.kind = OpKind::host;
    starts.duration = copies_of_all_to_all(among.count, per_node) * stack.layer_copies->value;
    starts.source = source_of(stack.layer_copies->provenance);
    return starts;
  };
  std::vector<Op> ops;
  for (Op& op : trace.ops) {
    std::vector<Op> after;
    for (const OpCommunication& communication : op.communications) {
      if (!is_copied(communication)) continue;
      if (communication.at == LaunchTime::start) {
        ops.push_back(starts_of(op));
      } else {
        after.push_back(starts_of(op));
        after.back().communications.push_back(communication);
      }
    }
    std::erase_if(op.communications, [&](const OpCommunication& communication) {
      return is_copied(communication) && communication.at == LaunchTime::end;
    });
    ops.push_back(std::move(op));
    std::ranges::move(after, std::back_inserter(ops));
  }
  trace.ops = std::move(ops);
}

void add_copied_bytes(Trace& trace, DividingRanks among, int per_node, Bandwidth through_host) {
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    Op& op = trace.ops[i];
    if (op.kind != OpKind::host || op.of_layer < 0) continue;  // no other op of the host belongs to a layer
    const std::vector<OpCommunication>& communications =
        op.communications.empty() ? trace.ops.at(i + 1).communications : op.communications;
    for (const OpCommunication& communication : communications) {
      if (communication.operation != Operation::all_to_all || communication.axis != among.axis()) continue;
      *op.duration += copied_by_all_to_all(communication.size, among.count, per_node) / through_host;
      op.source = ComputeSource::roofline;  // of the less certain part
    }
  }
}

}  // namespace trainyard
