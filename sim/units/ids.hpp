#pragma once
// Identifiers as separate types: a rank is not a node and neither is a link.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard {

enum class Rank : std::int32_t {};     ///< one GPU's process, 0-based, in node order
enum class NodeId : std::int32_t {};   ///< one node of the cluster
enum class LinkId : std::uint32_t {};  ///< one direction of one link of the cluster

/// One group of ranks after the other.
using RankGroups = std::vector<std::vector<Rank>>;

constexpr int index(Rank rank) { return static_cast<int>(rank); }
constexpr int index(NodeId node) { return static_cast<int>(node); }
constexpr std::uint32_t index(LinkId link) { return static_cast<std::uint32_t>(link); }

/// A non-negative number as an index of a container.
constexpr std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace trainyard
