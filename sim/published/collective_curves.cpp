#include "published/collective_curves.hpp"

#include "config/keys.hpp"
#include "published/collective_rows.hpp"
#include "published/match_rules.hpp"
#include "published/stated_software.hpp"
#include "units/letters.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <set>
#include <utility>
#include <variant>

namespace trainyard {
namespace {

/// Why the row's counts are impossible for a collective; empty if they are possible.
std::string reason_against_counts(const PublishedRow& row) {
  const auto product = static_cast<long long>(row.nodes) * row.gpus_per_node;
  const bool is_part_of_node = row.nodes == 1 && row.gpus_total <= row.gpus_per_node;
  if (row.gpus_total > 0 && row.gpus_per_node > 0 && row.gpus_total != product && !is_part_of_node)
    return "contradictory numbers of GPUs: gpus_total is not nodes x gpus_per_node";
  if (row.gpus_total < 2 || row.nodes < 1 || row.gpus_per_node < 1) return std::string(no_gpus);
  return {};
}

/// The curve of a row about a collective, or why the row is not predicted.
std::variant<CurveKey, std::string> key_of(const PublishedRow& row, const CollectiveMeasurement& read,
                                           const MachineRules& rules) {
  if (row.clean == "no") return "incomplete or contradictory source";
  if (small_letters(row.framework).find("nccl") == std::string::npos) return "library other than NCCL";
  if (std::string reason = reason_against_counts(row); !reason.empty()) return reason;
  const MachineRule* machine = machine_of(rules.machines, row);
  if (machine == nullptr) return "no rule matches the machine";
  const std::optional<NcclVersion> stated = stated_nccl(row);
  const SoftwareRule* software = first_match(rules.software, row);
  if (!stated && software == nullptr) return "no rule gives the NCCL version";
  const StatedChoice choice = stated_choice(row);
  if (!choice.not_simulated.empty()) return choice.not_simulated + " is not simulated";
  const HarnessRule* harness = first_match(rules.harness, row);
  const bool drives_node = harness != nullptr && harness->one_process_per_node;
  return CurveKey{.source = row.source,
                  .system = row.system,
                  .gpu = row.gpu,
                  .framework = row.framework,
                  .precision = row.precision,
                  .split = row.split,
                  .gpus_per_node = row.gpus_per_node,
                  .nodes = row.nodes,
                  .gpus = row.gpus_total,
                  .machine = machine,
                  .operation = read.operation,
                  .in_place = read.in_place,
                  .nccl = stated ? *stated : software->nccl,
                  .algorithm = read.algorithm == Algorithm::automatic ? choice.algorithm : read.algorithm,
                  .protocol = choice.protocol,
                  .gpus_per_process = drives_node ? std::min(row.gpus_per_node, row.gpus_total) : 1,
                  .call = harness != nullptr ? harness->call : Seconds{}};
}

/// The common key of in-place and out-of-place rows of one measurement. The number of GPUs per process may be
/// known from the metric of only one of them.
CurveKey twin_key(CurveKey key) {
  key.in_place = false;
  key.gpus_per_process = 1;
  return key;
}

std::string name_of_curve(const CurveKey& key) {
  const std::string nodes = key.nodes > 1 ? fmt::format("{} nodes of ", key.nodes) : "";
  return fmt::format("{}{} {}, {}: {}", nodes, key.nodes > 1 ? key.gpus_per_node : key.gpus, key.gpu,
                     config::name_of(key.operation), key.source);
}

/// Properties that may distinguish curves of the same name, in words.
std::vector<std::string> distinctions(const CollectiveCurve& curve) {
  return {curve.system,
          curve.framework,
          curve.precision,
          curve.split,
          "NCCL " + std::string(config::name_of(curve.nccl)),
          std::string(config::name_of(curve.algorithm)),
          curve.protocol ? std::string(config::name_of(*curve.protocol)) : "any protocol",
          curve.gpus_per_process == 1 ? "one GPU per process"
                                      : fmt::format("{} GPUs per process", curve.gpus_per_process),
          curve.in_place ? "in place" : "out of place",
          curve.machine->platform};
}

/// Appends to equal names the properties in which their curves differ, until the names differ.
void tell_apart(std::vector<CollectiveCurve>& curves) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (std::size_t i = 0; i < curves.size(); ++i) by_name[curves[i].name].push_back(i);
  for (const auto& [name, indices] : by_name) {
    std::set<std::string> different{name};
    const std::vector<std::string> of_first = distinctions(curves[indices.front()]);
    for (std::size_t word = 0; word < of_first.size() && different.size() < indices.size(); ++word) {
      const auto is_other = [&](std::size_t i) { return distinctions(curves[i])[word] != of_first[word]; };
      if (std::ranges::none_of(indices, is_other)) continue;
      different.clear();
      for (const std::size_t i : indices) {
        curves[i].name += ", " + distinctions(curves[i])[word];
        different.insert(curves[i].name);
      }
    }
  }
}

}  // namespace

CollectiveCurves collective_curves(const std::shared_ptr<const PublishedData>& data) {
  CollectiveCurves result;
  struct Read {
    const PublishedRow* row;
    CollectiveMeasurement measurement;
    CurveKey key;
  };
  std::vector<Read> read;
  std::set<std::pair<CurveKey, double>> out_of_place;
  const auto leave_out = [&](const PublishedRow& row, const std::string& reason) {
    ++result.excluded[reason];
    const bool is_claimed = reason != not_a_collective && reason != only_context && row.clean != "no";
    if (is_claimed) result.missed.push_back(row);
  };
  for (const PublishedRow& row : data->rows) {
    const auto understood = collective_measurement(row);
    if (const auto* reason = std::get_if<std::string>(&understood)) {
      leave_out(row, *reason);
      continue;
    }
    const auto& measurement = std::get<CollectiveMeasurement>(understood);
    const auto key = key_of(row, measurement, data->machine_rules);
    if (const auto* reason = std::get_if<std::string>(&key)) {
      leave_out(row, *reason);
      continue;
    }
    read.push_back({&row, measurement, std::get<CurveKey>(key)});
    if (!measurement.in_place) out_of_place.emplace(twin_key(read.back().key), measurement.sizes.back().si());
  }
  std::map<CurveKey, std::size_t> curve_at;
  for (const auto& [row, measurement, key] : read) {
    if (measurement.in_place && out_of_place.contains({twin_key(key), measurement.sizes.back().si()})) {
      ++result.excluded["in-place measurement whose out-of-place one is scored"];
      continue;
    }
    const auto [found, is_new] = curve_at.emplace(key, result.curves.size());
    if (is_new)
      result.curves.push_back(
          {key, data, name_of_curve(key), first_match(data->machine_rules.outliers, *row), {}});
    result.curves[found->second].points.push_back({.row = row,
                                                   .figure = measurement.figure,
                                                   .sizes = measurement.sizes,
                                                   .measured = measurement.measured});
  }
  tell_apart(result.curves);
  for (CollectiveCurve& curve : result.curves) {
    std::ranges::stable_sort(curve.points, {}, [](const CurvePoint& point) { return point.size().si(); });
  }
  return result;
}

}  // namespace trainyard
