// The head of a run's page: the step time with its expected error, its limit, and the changes that help most;
// and all changes that were tried.

#include "html/run_sections.hpp"
#include "report/expected_error.hpp"
#include "report/explanation.hpp"
#include "report/limits.hpp"
#include "report/run_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {

namespace {

constexpr std::size_t most_named = 3;

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

/// " (211 ms to 273 ms)": the times of 80 % of comparable runs, whose throughputs the error is of.
std::string expected_times(const Run& run) {
  if (!run.expected_error) return {};
  return fmt::format(" ({} to {})", estimate(run.pace.time / (1 + run.expected_error->high)),
                     estimate(run.pace.time / (1 + run.expected_error->low)));
}

Html error_html(const Run& run) {
  if (!run.expected_error) {
    const std::string& why = run.expected_error.error();
    return why.empty() ? Html{} : paragraph("Expected error unknown: " + why + ".");
  }
  return paragraph(
      fmt::format("Expected error of samples/s: {}, within which 80 % of {} comparable published runs lie.",
                  error_range(*run.expected_error), run.expected_error->runs));
}

/// "+92.1 % samples/s", "3.4 times the samples/s".
std::string samples_gain(double gain) {
  return gain_in_words(gain) + (gain < 1 ? " samples/s" : " the samples/s");
}

/// The --set arguments of a change, for copying.
Html set_html(const WhatIfRow& row) {
  Html html;
  for (const auto& one : row.what.set)
    html += Html{html.markup.empty() ? "" : " "} + element("code", "--set " + set_argument(one));
  return html;
}

Html best_html(const Run& run, const PageChanges& changes) {
  const Html head = subheading("Changes that help most");
  if (!changes.why_none.empty()) return head + paragraph(changes.why_none);
  if (changes.rows.empty()) return {};
  const std::vector<const WhatIfRow*> best = largest_gains(run, changes.rows, most_named);
  if (best.empty()) return head + paragraph("None of the changes tried gains 0.5 % or more.");
  Html items;
  for (const WhatIfRow* row : best) {
    items += element("li", element("strong", prose(samples_gain(*gain(run, *row)))) +
                               prose(" with " + row->what.change) + Html{"<br/>"} + set_html(*row)) +
             Html{"\n"};
  }
  return head + element("ol", Html{"\n"} + items) + Html{"\n"};
}

}  // namespace

Html answer_html(const Run& run, const PageChanges& changes) {
  const Html time =
      element(
          "p",
          element("strong", estimate(run.pace.time)) +
              prose(fmt::format(" {}{}", updates_of(run) ? "an update" : "step time", expected_times(run))),
          " class=\"headline\"") +
      Html{"\n"} + error_html(run) +
      element("p", prose(first_sentence(limit_in_words(run))), " class=\"verdict\"") + Html{"\n"};
  return in_columns({time, best_html(run, changes)});
}

Html changes_html(const Run& run, const PageChanges& changes) {
  if (changes.rows.empty()) return {};
  HtmlTable table(
      "changes",
      {{"change", true}, {"gain"}, {"step"}, {"samples/s"}, {"simulated with", true}, {"remark", true}});
  table.row("unchanged", "", run.pace.time, rounded(run.pace.throughput), "", "");
  std::vector<std::string> refused;
  for (const WhatIfRow& row : changes.rows) {
    if (!row.throughput) {
      refused.push_back(fmt::format("{}: {}", row.what.change, row.what.reason));
      continue;
    }
    table.row(row.what.change, signed_percent(*gain(run, row)), row.step_time, rounded(*row.throughput),
              set_html(row), row.what.remark);
  }
  constexpr std::size_t most_rows = 16;
  Html html =
      paragraph("Each was simulated. To repeat one: trainyard run experiment.resolved.yaml with its --set.") +
      table.html(table.rows() > most_rows);
  if (refused.empty()) return html;
  return html + folded(fmt::format("{} more could not be tried", refused.size()), list_of(refused));
}

}  // namespace trainyard
