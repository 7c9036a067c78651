#include "study/collective_curves.hpp"

#include "config/keys.hpp"
#include "study/collective_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

/// What the rows of a curve have in common.
using CurveKey = std::tuple<std::string, std::string, std::string, int, int, int, std::string, Operation,
                            bool, std::string, std::string>;

CurveKey key_of(const PublishedRow& row, const CollectiveMeasurement& read) {
  return {row.source,    row.system,     row.gpu,       row.gpus_per_node, row.nodes, row.gpus_total,
          row.framework, read.operation, read.in_place, row.precision,     row.split};
}

/// The same without the place of the result.
CurveKey out_of_place(CurveKey key) {
  std::get<bool>(key) = false;
  return key;
}

bool says_trees_are_off(const PublishedRow& row) {
  for (const std::string& text : {row.source_detail, row.notes}) {
    if (text.find("TREE_THRESHOLD=0") != std::string::npos || text.find("NCCL_ALGO=R") != std::string::npos)
      return true;
  }
  return false;
}

std::string name_of_curve(const PublishedRow& row, Operation operation) {
  const std::string nodes = row.nodes > 1 ? fmt::format("{} nodes of ", row.nodes) : "";
  return fmt::format("{}{} {}, {}: {}", nodes, row.nodes > 1 ? row.gpus_per_node : row.gpus_total, row.gpu,
                     config::name_of(operation), row.source);
}

/// Why the row is not predicted though it is about a collective; empty if it is.
std::string reason_against(const PublishedRow& row, const MachineRules& rules) {
  if (row.framework.find("NCCL") == std::string::npos) return "another library than NCCL";
  if (first_match(rules.machines, row) == nullptr) return "no rule knows the machine";
  if (row.gpus_total < 2 || row.nodes < 1 || row.gpus_per_node < 1) return "no number of GPUs";
  if (!stated_nccl(row) && first_match(rules.software, row) == nullptr) return "no rule knows the NCCL";
  return {};
}

}  // namespace

CollectiveCurves collective_curves(const std::vector<PublishedRow>& rows, const MachineRules& rules) {
  CollectiveCurves result;
  std::vector<std::pair<const PublishedRow*, CollectiveMeasurement>> read;
  std::set<std::pair<CurveKey, double>> has_out_of_place;
  for (const PublishedRow& row : rows) {
    const auto understood = collective_measurement(row);
    if (const auto* reason = std::get_if<std::string>(&understood)) {
      ++result.excluded[*reason];
      continue;
    }
    read.emplace_back(&row, std::get<CollectiveMeasurement>(understood));
    const CollectiveMeasurement& its = read.back().second;
    if (!its.in_place) has_out_of_place.emplace(key_of(row, its), its.sizes.back().si());
  }
  std::map<CurveKey, std::size_t> curve_of;
  for (const auto& [row, its] : read) {
    const CurveKey key = key_of(*row, its);
    std::string reason = reason_against(*row, rules);
    if (its.in_place && has_out_of_place.contains({out_of_place(key), its.sizes.back().si()}))
      reason = "in place: predicted alike, and the row out of place is scored";
    if (!reason.empty()) {
      ++result.excluded[reason];
      continue;
    }
    const auto [found, is_new] = curve_of.emplace(key, result.curves.size());
    if (is_new) {
      const HarnessRule* harness = first_match(rules.harness, *row);
      const bool drives_node = harness != nullptr && harness->one_process_per_node;
      const std::optional<NcclVersion> stated = stated_nccl(*row);
      result.curves.push_back(
          {.name = name_of_curve(*row, its.operation),
           .operation = its.operation,
           .machine = first_match(rules.machines, *row),
           .nccl = stated ? *stated : first_match(rules.software, *row)->nccl,
           .demands_ring = says_trees_are_off(*row),
           .nodes = row->nodes,
           .gpus_per_node = row->gpus_per_node,
           .gpus = row->gpus_total,
           .gpus_per_process = drives_node ? std::min(row->gpus_per_node, row->gpus_total) : 1,
           .split = row->split,
           .points = {}});
    }
    result.curves[found->second].points.push_back(
        {.row = row, .figure = its.figure, .sizes = its.sizes, .measured = its.measured});
  }
  for (CollectiveCurve& curve : result.curves) {
    std::ranges::stable_sort(curve.points, {}, [](const CurvePoint& point) { return point.size().si(); });
  }
  return result;
}

}  // namespace trainyard
