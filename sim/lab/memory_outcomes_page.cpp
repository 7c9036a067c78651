#include "config/keys.hpp"
#include "document/writers.hpp"
#include "lab/page_parts.hpp"
#include "lab/pages.hpp"
#include "published/scores.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace trainyard {
namespace {

void add_line(doc::Table& table, const std::string& framework, const std::string& precision,
              const MemoryVerdicts& counts) {
  const auto count = [](int number, int whole) {
    return doc::Value(whole == 0 ? std::string() : std::to_string(number), number);
  };
  const auto share = [](int part, int whole) {
    return whole == 0 ? std::string() : percent(1.0 * part / whole);
  };
  add_row(table, framework, precision, count(counts.ran, counts.ran), count(counts.accepted, counts.ran),
          share(counts.accepted, counts.ran), count(counts.failed, counts.failed),
          count(counts.refused, counts.failed), share(counts.refused, counts.failed));
}

doc::Table verdicts_by_software(const MemoryValidation& validation) {
  doc::Table table =
      table_of("verdicts", {"framework", "precision", "ran", "accepted", "", "failed", "refused", ""},
               {text_column(14), text_column(9), number_column(5), number_column(9),
                number_column(8).named("share accepted").drops(1), number_column(8), number_column(8),
                number_column(8).named("share refused").drops(2)});
  std::map<std::pair<std::string, std::string>, MemoryVerdicts> counts;
  for (const MemoryOutcome& outcome : validation.outcomes)
    counts[{outcome.framework, std::string(config::name_of(outcome.of.precision))}].add(outcome.ran,
                                                                                        outcome.memory.fits);
  for (const auto& [software, verdicts] : counts) add_line(table, software.first, software.second, verdicts);
  return table;
}

MemoryVerdicts all_verdicts(const MemoryValidation& validation) {
  MemoryVerdicts all;
  for (const MemoryOutcome& outcome : validation.outcomes) all.add(outcome.ran, outcome.memory.fits);
  return all;
}

std::string wrong_line(const MemoryOutcome& outcome) {
  const PublishedRow& row = *outcome.of.row;
  return fmt::format("{} {} {} batch {}{} on {}, {}: {}, but counted {} of {}", row.framework, row.model,
                     config::name_of(outcome.of.precision), outcome.of.batch_per_gpu,
                     row.seq_len.empty() ? std::string() : ", length " + row.seq_len, outcome.memory.gpu,
                     outcome.of.stack->stack, outcome.ran ? "ran" : "failed",
                     gpu_memory(outcome.memory.in_use), gpu_memory(outcome.memory.available));
}

}  // namespace

void add_memory_outcomes(doc::Document& page, const MemoryValidation& validation) {
  doc::Table table = verdicts_by_software(validation);
  table.rows.insert(table.rows.begin(), {.is_rule = true});
  table.rows.push_back({.is_rule = true});
  add_line(table, "all", "", all_verdicts(validation));
  add_part(page, "memory",
           "memory: verdicts on published batches; accepted: predicted to fit; refused: predicted not to fit")
      .add(std::move(table));
  doc::List wrong{.items = {}, .kind = doc::List::Kind::lines};
  for (const MemoryOutcome& outcome : validation.outcomes) {
    if (!outcome.is_right()) wrong.items.push_back({"", wrong_line(outcome)});
  }
  if (!wrong.items.empty()) add_part(page, "wrong verdicts", "wrong verdicts").add(std::move(wrong));
  doc::List not_judged{.items = {}, .kind = doc::List::Kind::lines, .indent = 0};
  for (const auto& [reason, number] : validation.excluded)
    not_judged.items.push_back({"", fmt::format("not judged: {} x {}", number, reason)});
  if (!not_judged.items.empty()) page.sections.back().add(std::move(not_judged));
}

nlohmann::ordered_json memory_outcomes_json(const MemoryValidation& validation) {
  const auto right_share = [](int whole, int right, const char* right_word) {
    nlohmann::ordered_json json{{"batches", whole}, {right_word, right}};
    json["share"] = whole == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(1.0 * right / whole);
    return json;
  };
  const MemoryVerdicts all = all_verdicts(validation);
  nlohmann::ordered_json wrong = nlohmann::ordered_json::array();
  for (const MemoryOutcome& outcome : validation.outcomes) {
    if (outcome.is_right()) continue;
    const PublishedRow& row = *outcome.of.row;
    wrong.push_back({{"file", row.file},
                     {"line", row.line},
                     {"gpu", outcome.memory.gpu},
                     {"framework", row.framework},
                     {"stack", outcome.of.stack_name()},
                     {"model", row.model},
                     {"precision", config::name_of(outcome.of.precision)},
                     {"batch_per_gpu", outcome.of.batch_per_gpu},
                     {"outcome", outcome.ran ? "ran" : "failed"},
                     {"memory_peak_bytes", outcome.memory.in_use.si()},
                     {"memory_available_bytes", outcome.memory.available.si()}});
  }
  return {{"ran", right_share(all.ran, all.accepted, "accepted")},
          {"failed", right_share(all.failed, all.refused, "refused")},
          {"by_framework", doc::rows_json(verdicts_by_software(validation))},
          {"wrong", std::move(wrong)},
          {"excluded", validation.excluded}};
}

}  // namespace trainyard
