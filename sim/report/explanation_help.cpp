// The gains of an explanation's changes.

#include "report/explanation.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace trainyard {

namespace {

doc::Table change_table() {
  return {.key = "changes",
          .title = "changes that help",
          .columns = {{.head = "changes that help", .layout = text_column(30).wraps(16), .most = 30},
                      {.head = "step", .layout = number_column(9).drops(1)},
                      {.head = "samples/s", .layout = number_column(9)},
                      {.head = "gain", .layout = number_column(9)},
                      {.head = "simulated with --set", .layout = text_column().drops(-1), .is_apart = true}},
          .shape = {.indent = 2, .gap = 1, .head_hangs = true, .elsewhere = "--json"},
          .is_heading = true};
}

}  // namespace

void add_changes(doc::Document& page, const Run& run, const std::vector<WhatIfRow>& changes,
                 const std::string& arguments) {
  doc::Section& section = page.section("changes", "changes that help");
  section.is_untitled_in_text = true;
  doc::Table table = change_table();
  const auto time = [&](Seconds step) { return doc::Value(human_like(step, run.pace.time), step); };
  table.rows.push_back({.cells = {"unchanged", time(run.pace.time),
                                  doc::Value(rounded(run.pace.throughput), run.pace.throughput)}});
  doc::List remarks;
  doc::List refused;
  for (const WhatIfRow& row : changes) {
    if (!row.throughput) {
      refused.items.push_back({row.what.change, row.what.reason});
      continue;
    }
    const double more = *gain(run, row);
    // replaced before the width of the column counts
    doc::Row change{.cells = {in_device_words(run.experiment.platform, row.what.change), time(*row.step_time),
                              doc::Value(rounded(*row.throughput), *row.throughput),
                              doc::Value(signed_percent(more), more), doc::Cell()}};
    for (const auto& set : row.what.set) change.cells.back().code.push_back(set_argument(set));
    table.rows.push_back(std::move(change));
    if (!row.what.remark.empty()) remarks.items.push_back({row.what.change, row.what.remark});
  }
  section.add(std::move(table));
  if (!remarks.items.empty()) section.add(std::move(remarks));
  section.add(
      doc::Command{"  repeat a change: ", fmt::format("trainyard run {} --set KEY=VALUE", arguments)});
  if (!refused.items.empty()) page.section("refused", "not tried").add(std::move(refused));
}

std::vector<const WhatIfRow*> largest_gains(const Run& run, const std::vector<WhatIfRow>& rows,
                                            std::size_t most) {
  std::vector<const WhatIfRow*> best;
  std::set<std::string> changed;
  for (const WhatIfRow& row : rows) {
    const auto is_changed = [&](const auto& set) { return changed.contains(set.first); };
    if (best.size() == most || gain(run, row).value_or(0) < least_gain) continue;
    if (std::ranges::any_of(row.what.set, is_changed)) continue;
    for (const auto& [key, value] : row.what.set) changed.insert(key);
    best.push_back(&row);
  }
  return best;
}

std::string gain_in_words(double gain) {
  return gain < 1 ? signed_percent(gain) : rounded(1 + gain) + " times";
}

std::string help_in_words(const Run& run, const std::vector<WhatIfRow>& changes) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> helpful;
  for (const WhatIfRow* row : largest_gains(run, changes, most_named))
    helpful.push_back(fmt::format("{} ({} samples/s)", row->what.change, gain_in_words(*gain(run, *row))));
  if (helpful.empty()) return "None of these changes gains 0.5 % or more.";
  return fmt::format(
      "Largest gains: {}{}", fmt::join(helpful, ", then "),
      helpful.size() < most_named ? ". Every other kind of change gains less than 0.5 %." : ".");
}

std::optional<double> gain(const Run& run, const WhatIfRow& row) {
  if (!row.throughput) return std::nullopt;
  return *row.throughput / run.pace.throughput - 1;
}

bool differs_from_saved(const ExplainedRun& explained) {
  if (!explained.saved_step_time) return false;
  constexpr double digits = 1e-11;  // precision of summary.json
  return std::abs(*explained.saved_step_time / explained.run.pace.time - 1) > digits;
}

}  // namespace trainyard
