#include "platform/parallel_links.hpp"

#include "platform/names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace trainyard {
namespace {

bool is_alike(const Link& a, const Link& b) {
  return a.kind == b.kind && a.lanes == b.lanes && a.bandwidth == b.bandwidth && a.effective == b.effective &&
         a.latency == b.latency;
}

std::string between(const NodeGraph& graph, const std::vector<EdgeId>& edges) {
  std::vector<int> ones;
  std::vector<int> opposite;
  for (const EdgeId edge : edges) {
    ones.push_back(graph[source(edge, graph)].number);
    opposite.push_back(graph[target(edge, graph)].number);
  }
  const DeviceKind kind = graph[source(edges.front(), graph)].kind;
  const DeviceKind other_kind = graph[target(edges.front(), graph)].kind;
  const bool is_mesh = kind == other_kind && std::ranges::find_first_of(ones, opposite) != ones.end();
  if (is_mesh) {
    ones.insert(ones.end(), opposite.begin(), opposite.end());
    return "pairs of " + device_list(kind, ones);
  }
  return device_list(kind, ones) + " - " + device_list(other_kind, opposite);
}

}  // namespace

std::vector<ParallelLinks> parallel_links(const NodeGraph& graph) {
  std::vector<ParallelLinks> groups;
  const auto kinds = [&](EdgeId edge) {
    return std::pair{graph[source(edge, graph)].kind, graph[target(edge, graph)].kind};
  };
  for (auto [edge, end] = edges(graph); edge != end; ++edge) {
    if (groups.empty() || !is_alike(groups.back().link, graph[*edge]) ||
        kinds(groups.back().edges.back()) != kinds(*edge)) {
      groups.push_back({graph[*edge], {}, {}});
    }
    groups.back().edges.push_back(*edge);
  }
  for (ParallelLinks& group : groups) group.between = between(graph, group.edges);
  return groups;
}

std::string device_list(DeviceKind kind, std::vector<int> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  const std::string_view name = config::name_of(kind);
  if (numbers.size() == 1) return fmt::format("{}{}", name, numbers.front());
  std::string ranges;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!ranges.empty()) ranges += ',';
    ranges += first == last ? fmt::format("{}", numbers[first])
                            : fmt::format("{}-{}", numbers[first], numbers[last]);
    first = last + 1;
  }
  return fmt::format("{}[{}]", name, ranges);
}

}  // namespace trainyard
