#include "report/memory_outcomes_table.hpp"

#include "config/keys.hpp"
#include "report/text_layout.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Json = nlohmann::ordered_json;
using Group = std::pair<std::string, std::string>;  // framework, precision
using Outcomes = std::vector<const MemoryOutcome*>;

std::map<Group, Outcomes> groups_of(const MemoryValidation& validation) {
  std::map<Group, Outcomes> groups;
  for (const MemoryOutcome& outcome : validation.outcomes)
    groups[{outcome.framework, std::string(config::name_of(outcome.precision))}].push_back(&outcome);
  return groups;
}

OutcomeCounts all_counts(const MemoryValidation& validation) {
  Outcomes all;
  for (const MemoryOutcome& outcome : validation.outcomes) all.push_back(&outcome);
  return counts_of(all);
}

std::string share(int part, int whole) {
  return whole == 0 ? std::string() : percent(static_cast<double>(part) / whole);
}

std::string count_or_nothing(int number, int whole) {
  return whole == 0 ? std::string() : std::to_string(number);
}

void add_line(Table& table, const std::string& framework, const std::string& precision,
              const OutcomeCounts& counts) {
  table.row(framework, precision, count_or_nothing(counts.ran, counts.ran),
            count_or_nothing(counts.accepted, counts.ran), share(counts.accepted, counts.ran),
            count_or_nothing(counts.failed, counts.failed), count_or_nothing(counts.refused, counts.failed),
            share(counts.refused, counts.failed));
}

std::string wrong_line(const MemoryOutcome& outcome) {
  const MemoryReport& report = outcome.report;
  return fmt::format("  {} {} {} batch {}{} on {}, {}: {}, but counted {} of {}\n", outcome.row.framework,
                     outcome.row.model, config::name_of(outcome.precision), outcome.batch_per_gpu,
                     outcome.row.seq_len.empty() ? std::string() : ", length " + outcome.row.seq_len,
                     report.gpu, outcome.stack, outcome.ran ? "ran" : "failed", gpu_memory(report.peak),
                     gpu_memory(report.available));
}

Json counts_json(int whole, int right, const char* right_word) {
  Json json{{"batches", whole}, {right_word, right}};
  json["share"] = whole == 0 ? Json() : Json(static_cast<double>(right) / whole);
  return json;
}

}  // namespace

std::string memory_outcomes_table(const MemoryValidation& validation, const PrintStyle& style) {
  std::string text = fitted_lines(
      "memory: verdicts on published batches  accepted: predicted to fit; refused: predicted not to fit\n\n",
      style.width);
  Table table({text_column(14), text_column(9), number_column(5), number_column(9),
               number_column(8).named("share accepted").drops(1), number_column(8), number_column(8),
               number_column(8).named("share refused").drops(2)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("framework", "precision", "ran", "accepted", "", "failed", "refused", "");
  table.rule();
  for (const auto& [group, outcomes] : groups_of(validation))
    add_line(table, group.first, group.second, counts_of(outcomes));
  table.rule();
  add_line(table, "all", "", all_counts(validation));
  text += table.text(style.width);
  std::string wrong;
  for (const MemoryOutcome& outcome : validation.outcomes) {
    if (!outcome.is_right()) wrong += fitted_lines(wrong_line(outcome), style.width);
  }
  if (!wrong.empty()) text += "\nwrong verdicts\n" + wrong;
  for (const auto& [reason, number] : validation.excluded)
    text += fitted_lines(fmt::format("not judged: {} x {}\n", number, reason), style.width);
  return text + '\n';
}

Json memory_outcomes_json(const MemoryValidation& validation) {
  const OutcomeCounts all = all_counts(validation);
  Json json;
  json["ran"] = counts_json(all.ran, all.accepted, "accepted");
  json["failed"] = counts_json(all.failed, all.refused, "refused");
  json["by_framework"] = Json::array();
  for (const auto& [group, outcomes] : groups_of(validation)) {
    const OutcomeCounts counts = counts_of(outcomes);
    json["by_framework"].push_back({{"framework", group.first},
                                    {"precision", group.second},
                                    {"ran", counts.ran},
                                    {"accepted", counts.accepted},
                                    {"failed", counts.failed},
                                    {"refused", counts.refused}});
  }
  json["wrong"] = Json::array();
  for (const MemoryOutcome& outcome : validation.outcomes) {
    if (outcome.is_right()) continue;
    json["wrong"].push_back({{"file", outcome.row.file},
                             {"line", outcome.row.line},
                             {"gpu", outcome.report.gpu},
                             {"framework", outcome.row.framework},
                             {"stack", outcome.stack},
                             {"model", outcome.row.model},
                             {"precision", config::name_of(outcome.precision)},
                             {"batch_per_gpu", outcome.batch_per_gpu},
                             {"outcome", outcome.ran ? "ran" : "failed"},
                             {"memory_peak_bytes", outcome.report.peak.si()},
                             {"memory_available_bytes", outcome.report.available.si()}});
  }
  json["excluded"] = validation.excluded;
  return json;
}

}  // namespace trainyard
