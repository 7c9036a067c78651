#include "published/target_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace trainyard {

namespace {

bool is_energy(const PublishedRow& row) { return row.metric == "energy_to_train"; }

/// Whether the joules may belong to this result: the columns of both are equal, the time within 1 %.
bool may_belong(const PublishedRow& energy, const PublishedRow& result) {
  const TargetColumns& target = *energy.to_target;
  const TargetColumns& of = *result.to_target;
  if (result.system != energy.system || of.round != target.round || of.benchmark != target.benchmark)
    return false;
  if (energy.nodes > 0 && result.nodes > 0 && energy.nodes != result.nodes) return false;
  if (!energy.global_batch.empty() && !result.global_batch.empty() &&
      energy.global_batch != result.global_batch)
    return false;
  constexpr double most = 0.01;
  return target.metered_s <= 0 || of.time_s <= 0 || std::abs(target.metered_s / of.time_s - 1) < most;
}

/// The submitter's own, else the only one of another submitter: results that were submitted again are in the
/// tables once. That must have been the same run, as its time says.
const PublishedRow* result_of(const PublishedRow& energy, const std::vector<PublishedRow>& rows) {
  std::vector<const PublishedRow*> candidates;
  for (const PublishedRow& row : rows) {
    if (!row.to_target || is_energy(row) || !may_belong(energy, row)) continue;
    if (row.to_target->submitter == energy.to_target->submitter) return &row;
    if (energy.to_target->metered_s > 0 && row.to_target->time_s > 0) candidates.push_back(&row);
  }
  return candidates.size() == 1 ? candidates.front() : nullptr;
}

}  // namespace

bool is_of_targets(const CsvRow& header) {
  const auto has = [&](std::string_view column) {
    return std::ranges::find(header.cells, column, &CsvCell::text) != header.cells.end();
  };
  return has("benchmark") && (has("time_to_train_score_s") || has("energy_mean_j"));
}

std::string year_of_round(std::string_view round) {
  constexpr std::array years{std::pair{"0.5", "2018"}, std::pair{"0.6", "2019"}, std::pair{"0.7", "2020"},
                             std::pair{"1.", "2021"},  std::pair{"2.", "2022"},  std::pair{"3.", "2023"},
                             std::pair{"4.", "2024"},  std::pair{"5.", "2025"},  std::pair{"6.", "2026"}};
  for (const auto& [begin, year] : years) {
    if (round.starts_with(begin)) return year;
  }
  return {};
}

void complete_energy_rows(std::vector<PublishedRow>& rows, const std::vector<PublishedRow>& lookup) {
  for (PublishedRow& row : rows) {
    if (!row.to_target || !is_energy(row)) continue;
    const PublishedRow* result = result_of(row, rows);
    if (result == nullptr) result = result_of(row, lookup);
    if (result == nullptr) continue;
    row.gpu = result->gpu;
    row.gpus_per_node = result->gpus_per_node;
    row.nodes = result->nodes;
    row.gpus_total = result->gpus_total;
    row.interconnect_intra = result->interconnect_intra;
    row.interconnect_inter = result->interconnect_inter;
    row.framework = result->framework;
    row.notes = result->notes;
    row.to_target->optimizer = result->to_target->optimizer;
    row.to_target->result_submitter = result->to_target->submitter;
  }
}

}  // namespace trainyard
