#include "published/target_rows.hpp"

#include "published/stated_software.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace trainyard {

namespace {

/// Without them nothing of a row could be used.
constexpr std::array<std::string_view, 5> always_needed{"round", "submitter", "system", "benchmark",
                                                        "global_batch"};
constexpr std::array<std::string_view, 5> needed_for_times{"accelerator", "accelerators_per_node", "nodes",
                                                           "accelerators", "framework"};

constexpr std::string_view dawnbench = "dawnbench";

class TargetReader {
public:
  TargetReader(const CsvFile& file, CsvProblems& problems) : file_(file), problems_(problems) {}

  [[nodiscard]] bool has(std::string_view column) const {
    return place_of(column) < file_.header.cells.size();
  }

  void require(std::string_view column) {
    if (!has(column)) problems_.error(file_.header.line, "the column " + in_quotes(column) + " is missing");
  }

  [[nodiscard]] std::string text(const CsvRow& row, std::string_view column) const {
    return has(column) ? row.cells[place_of(column)].text : std::string();
  }

  [[nodiscard]] double number(const CsvRow& row, std::string_view column) const {
    const std::string cell = text(row, column);
    if (cell.empty()) return 0;
    const Parsed<double> read = parse_number(cell);
    if (read && std::isfinite(*read) && *read >= 0) return *read;
    problems_.error(row.line, row.cells[place_of(column)], column,
                    "a number of at least 0 is needed, not " + in_quotes(cell));
    return 0;
  }

  [[nodiscard]] int count(const CsvRow& row, std::string_view column) const {
    const double value = number(row, column);
    if (value == std::floor(value) && value <= most_gpus) return static_cast<int>(value);
    problems_.error(row.line, row.cells[place_of(column)], column,
                    "a whole number is needed, not " + in_quotes(text(row, column)));
    return 0;
  }

private:
  [[nodiscard]] std::size_t place_of(std::string_view column) const {
    const auto found = std::ranges::find(file_.header.cells, column, &CsvCell::text);
    return static_cast<std::size_t>(found - file_.header.cells.begin());
  }

  const CsvFile& file_;
  CsvProblems& problems_;
};

/// Results of a round are of these years: the first has results of 2018.
std::string year_of(std::string_view round) {
  constexpr std::array years{std::pair{"0.5", "2018"}, std::pair{"0.6", "2019"}, std::pair{"0.7", "2020"},
                             std::pair{"1.", "2021"},  std::pair{"2.", "2022"},  std::pair{"3.", "2023"},
                             std::pair{"4.", "2024"},  std::pair{"5.", "2025"},  std::pair{"6.", "2026"}};
  for (const auto& [begin, year] : years) {
    if (round.starts_with(begin)) return year;
  }
  return {};
}

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

std::vector<PublishedRow> target_rows(const std::string& name, const CsvFile& file, CsvProblems& problems) {
  TargetReader reader(file, problems);
  const bool has_energy = reader.has("energy_mean_j");
  for (const std::string_view column : always_needed) reader.require(column);
  if (!has_energy) {
    for (const std::string_view column : needed_for_times) reader.require(column);
  }
  std::vector<PublishedRow> rows;
  if (!problems.empty()) return rows;
  for (const CsvRow& csv : file.rows) {
    PublishedRow& row = rows.emplace_back();
    row.file = name;
    row.line = csv.line;
    row.source = reader.text(csv, "source");
    row.system = reader.text(csv, "system");
    row.gpu = reader.text(csv, "accelerator");
    row.gpus_per_node = reader.count(csv, "accelerators_per_node");
    row.nodes = reader.count(csv, "nodes");
    row.gpus_total = reader.count(csv, "accelerators");
    row.interconnect_intra = reader.text(csv, "accelerator_interconnect");
    row.interconnect_inter = reader.text(csv, "host_networking");
    row.framework = reader.text(csv, "framework");
    row.global_batch = reader.text(csv, "global_batch");
    row.split = reader.text(csv, "split");
    row.precision = reader.text(csv, "precision");
    row.notes = reader.text(csv, "notes");
    row.metric = has_energy ? "energy_to_train" : "time_to_train";
    row.unit = has_energy ? "J" : "s";
    std::string round = reader.text(csv, "round");
    if (round.starts_with('v')) round.erase(0, 1);
    const bool is_dawnbench = in_small_letters(round) == dawnbench;
    row.model = (is_dawnbench ? "DAWNBench " : "MLPerf ") + reader.text(csv, "benchmark");
    row.year = is_dawnbench ? reader.text(csv, "year") : year_of(round);
    row.to_target = TargetColumns{.round = round,
                                  .submitter = reader.text(csv, "submitter"),
                                  .benchmark = reader.text(csv, "benchmark"),
                                  .optimizer = in_small_letters(reader.text(csv, "optimizer")),
                                  .samples = reader.number(csv, "samples_mean"),
                                  .runs = reader.count(csv, reader.has("converged") ? "converged" : "runs"),
                                  .epochs = is_dawnbench ? reader.number(csv, "epochs") : 0,
                                  .time_s = reader.number(csv, "time_to_train_score_s"),
                                  .cost_usd = reader.number(csv, "cost_usd"),
                                  .energy_j = reader.number(csv, "energy_mean_j"),
                                  .metered_s = has_energy ? reader.number(csv, "time_mean_s") : 0,
                                  .result_submitter = {}};
    row.value = has_energy ? row.to_target->energy_j : row.to_target->time_s;
    if (reader.text(csv, "accumulation") == "1") continue;
    if (const int accumulation = reader.count(csv, "accumulation"); accumulation > 1)
      row.notes = "grad_accum=" + std::to_string(accumulation) + (row.notes.empty() ? "" : "; ") + row.notes;
  }
  return rows;
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
