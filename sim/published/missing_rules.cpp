#include "published/missing_rules.hpp"

#include "published/collective_rows.hpp"
#include "published/match_rules.hpp"
#include "published/training_rows.hpp"
#include "published/validation.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <string>
#include <variant>

namespace trainyard {
namespace {

/// The columns that rules for machines look at, except empty ones.
std::string machine_in_words(const PublishedRow& row) {
  std::vector<std::string> parts{"gpu " + in_quotes(row.gpu)};
  if (row.gpus_per_node > 0) parts.push_back(fmt::format("gpus_per_node {}", row.gpus_per_node));
  if (!row.interconnect_intra.empty())
    parts.push_back("interconnect_intra " + in_quotes(row.interconnect_intra));
  if (!row.interconnect_inter.empty())
    parts.push_back("interconnect_inter " + in_quotes(row.interconnect_inter));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Errors by message, in the order of their first rows.
class MissingRules {
public:
  void add_machine(const PublishedRow& row) {
    add(row, "gpu", "no rule recognises the machine: " + machine_in_words(row),
        "check the columns, or add a rule for the machine and name its file with --machines");
  }
  void add_software(const PublishedRow& row) {
    add(row, "framework", "no rule recognises the framework " + in_quotes(row.framework),
        "check the column, or add a rule for the framework and name its file with --runs");
  }
  void add_model(const PublishedRow& row) {
    add(row, "model", "no rule recognises the model " + in_quotes(row.model),
        "write it as shipped rows do (ResNet-50, BERT-Large), or add a rule for the model and name its file "
        "with --runs");
  }
  void add(const Diagnostic& error) {
    if (++rows_[error.message] == 1) errors_.push_back(error);
  }
  [[nodiscard]] std::vector<Diagnostic> errors() && {
    for (Diagnostic& error : errors_) {
      if (const int rows = rows_.at(error.message); rows > 1)
        error.message += fmt::format(" ({} rows)", rows);
    }
    return std::move(errors_);
  }

private:
  void add(const PublishedRow& row, const char* column, std::string message, std::string hint) {
    add({.file = row.file,
         .line = row.line,
         .column = 1,
         .key_path = column,
         .message = std::move(message),
         .hint = std::move(hint),
         .source_line = {}});
  }

  std::vector<Diagnostic> errors_;
  std::map<std::string, int> rows_;
};

/// Whether a row is to be predicted if rules recognise it.
bool is_eligible(const PublishedData& training, const PublishedRow& row) {
  return is_to_be_predicted(row) && first_match(training.run_rules.excluded, row) == nullptr &&
         may_be_a_speed(row);
}

}  // namespace

std::vector<Diagnostic> missing_rules(const std::vector<PublishedRow>& rows, const PublishedData& collectives,
                                      const PublishedData& training, bool also_models) {
  std::vector<Diagnostic> all;
  const auto gather = [&](const std::vector<PublishedRow>& some, const auto& look_at) {
    MissingRules missing;
    for (const PublishedRow& row : some) look_at(row, missing);
    std::ranges::move(std::move(missing).errors(), std::back_inserter(all));
  };
  gather(rows, [](const PublishedRow& row, MissingRules& missing) {
    if (row.unknown) missing.add(*row.unknown);
  });
  gather(collectives.rows, [&](const PublishedRow& row, MissingRules& missing) {
    if (first_match(collectives.run_rules.excluded, row) != nullptr) return;
    if (std::holds_alternative<std::string>(collective_measurement(row))) return;
    if (machine_of(collectives.machine_rules.machines, row) == nullptr) missing.add_machine(row);
  });
  gather(training.rows, [&](const PublishedRow& row, MissingRules& missing) {
    if (!is_eligible(training, row)) return;
    if (machine_of(training.machine_rules.machines, row) == nullptr) missing.add_machine(row);
    if (first_match(training.run_rules.stacks, row) == nullptr) missing.add_software(row);
  });
  gather(training.rows, [&](const PublishedRow& row, MissingRules& missing) {
    if (also_models && is_eligible(training, row) && first_match(training.run_rules.models, row) == nullptr)
      missing.add_model(row);
  });
  return all;
}

}  // namespace trainyard
