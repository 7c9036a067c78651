#include "strategy/servers.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace trainyard {

namespace {

/// A tensor or a piece of one.
struct Piece {
  std::size_t gradient = 0;
  double elements = 0;
  int shard = 0;
};

/// Number of pieces of a tensor.
double pieces_of(Bytes size, int shards, const ServerRules& rules) {
  if (rules.partition) return std::max(1.0, std::ceil(size / rules.partition->value));
  return rules.spread_above && size > rules.spread_above->value ? shards : 1;
}

std::vector<Piece> cut(std::span<const ReadyGradient> gradients, Bytes value, int shards,
                       const ServerRules& rules) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double elements = gradients[i].gradient.elements;
    const double count = pieces_of(elements * value, shards, rules);
    const double least = std::floor(elements / count);
    const double larger = elements - least * count;  // pieces with one value more
    for (double k = 0; k < count; ++k) pieces.push_back({i, least + (k < larger ? 1 : 0), 0});
  }
  return pieces;
}

void assign(std::vector<Piece>& pieces, int shards, ShardAssignment assignment) {
  if (assignment == ShardAssignment::round_robin) {
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].shard = static_cast<int>(i % at(shards));
    return;
  }
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return pieces[i].elements; });
  std::vector<double> load(at(shards), 0);
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(load);
    *least += pieces[i].elements;
    pieces[i].shard = static_cast<int>(least - load.begin());
  }
}

}  // namespace

std::vector<ServerMessage> server_messages(std::span<const ReadyGradient> gradients, Bytes value, int shards,
                                           const ServerRules& rules) {
  std::vector<Piece> pieces = cut(gradients, value, shards, rules);
  assign(pieces, shards, rules.assign);
  std::vector<ServerMessage> messages;
  auto piece = pieces.begin();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::map<int, double> elements_of_shard;
    for (; piece != pieces.end() && piece->gradient == i; ++piece)
      elements_of_shard[piece->shard] += piece->elements;
    // Shards with the same number of elements share a message.
    std::map<double, std::vector<int>, std::greater<>> shards_of_elements;
    for (const auto& [shard, elements] : elements_of_shard) shards_of_elements[elements].push_back(shard);
    for (auto& [elements, sharing] : shards_of_elements) {
      if (elements > 0)
        messages.push_back({.ready_op = gradients[i].op,
                            .needed_op = gradients[i].needed_op,
                            .bytes = elements * value,
                            .turn = static_cast<int>(i),
                            .shards = sharing});
    }
  }
  return messages;
}

}  // namespace trainyard
