#include "config/keys.hpp"
#include "lab/case_validation.hpp"
#include "lab/validation_parts.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>
#include <string>

namespace trainyard {
namespace {

std::string share(int part, int whole) {
  return whole == 0 ? std::string() : percent(static_cast<double>(part) / whole);
}

std::string count_or_nothing(int number, int whole) {
  return whole == 0 ? std::string() : std::to_string(number);
}

void add_line(Table& table, const std::string& framework, const std::string& precision,
              const MemoryVerdicts& counts) {
  table.row(framework, precision, count_or_nothing(counts.ran, counts.ran),
            count_or_nothing(counts.accepted, counts.ran), share(counts.accepted, counts.ran),
            count_or_nothing(counts.failed, counts.failed), count_or_nothing(counts.refused, counts.failed),
            share(counts.refused, counts.failed));
}

std::string wrong_line(const MemoryOutcome& outcome) {
  const PublishedRow& row = *outcome.of.row;
  return fmt::format("  {} {} {} batch {}{} on {}, {}: {}, but counted {} of {}\n", row.framework, row.model,
                     config::name_of(outcome.of.precision), outcome.of.batch_per_gpu,
                     row.seq_len.empty() ? std::string() : ", length " + row.seq_len, outcome.memory.gpu,
                     outcome.of.stack->stack, outcome.ran ? "ran" : "failed",
                     gpu_memory(outcome.memory.in_use), gpu_memory(outcome.memory.available));
}

}  // namespace

std::string memory_outcomes_text(const MemoryValidation& validation, const PrintStyle& style) {
  std::string text = fitted_lines(
      "memory: verdicts on published batches  accepted: predicted to fit; refused: predicted not to fit\n\n",
      style.width);
  Table table({text_column(14), text_column(9), number_column(5), number_column(9),
               number_column(8).named("share accepted").drops(1), number_column(8), number_column(8),
               number_column(8).named("share refused").drops(2)},
              {.indent = 0, .gap = 1, .elsewhere = "--json"});
  table.row("framework", "precision", "ran", "accepted", "", "failed", "refused", "");
  table.rule();
  for (const auto& [software, outcomes] : outcomes_by_software(validation))
    add_line(table, software.first, software.second, counts_of(outcomes));
  table.rule();
  add_line(table, "all", "", counts_of(all_outcomes(validation)));
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

}  // namespace trainyard
