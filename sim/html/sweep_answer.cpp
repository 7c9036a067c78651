#include "html/sweep_answer.hpp"

#include "document/page.hpp"
#include "html/sweep_curves.hpp"
#include "html/sweep_published.hpp"
#include "report/sweep_words.hpp"
#include "sweep/run_sweep.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t most_in_answer = 8;

Html answer_item(std::string_view label, std::string_view text) {
  return element("li", element("strong", label) + prose(": ") + prose(text)) + Html{"\n"};
}

Html answer_list(const Html& items) { return element("ul", Html{"\n"} + items) + Html{"\n"}; }

/// The point with the highest throughput, for models without an epoch.
Html highest_throughput(const SweepResult& result) {
  const SweepRow* best = nullptr;
  for (const SweepRow& row : result.rows) {
    const auto rate = [&](const SweepRow& one) { return figure(result, one, throughput_figure).value_or(0); };
    if (rate(row) > 0 && (best == nullptr || rate(row) > rate(*best))) best = &row;
  }
  if (best == nullptr) return {};
  const std::optional<double> per_gpu = throughput_per_gpu(result, *best);
  return subheading("Highest throughput") +
         answer_list(answer_item(
             point_in_words(result.sweep, best->point),
             fmt::format("{} samples/s{}", rounded(*figure(result, *best, throughput_figure)),
                         per_gpu ? fmt::format(", {} per GPU", rounded(*per_gpu)) : std::string())));
}

}  // namespace

Html best_points_html(const SweepResult& result) {
  const std::vector<Needs> needs = needs_of(result);
  if (std::ranges::none_of(needs, [](const Needs& row) { return row.time_s.has_value(); })) {
    return is_of_learners(result) ? paragraph("No point reached the learner's target.")
                                  : highest_throughput(result);
  }
  const Choice choice = choose(result, needs);
  const std::string limits = limits_in_words(result.sweep.goal);
  Html html = subheading(limits.empty() ? "Best points" : "Best points " + limits);
  Html unknown;
  for (const auto& [label, names] : unknown_needs_in_words(result, needs))
    unknown += answer_item(label, names);
  if (choice.pareto.empty()) {
    html += paragraph("No point is within these limits.");
    return unknown.markup.empty() ? html : html + answer_list(unknown);
  }
  Html items;
  const auto best = best_rows(choice);
  for (auto one = best.begin(); one != best.end();) {
    std::string label;
    const std::size_t row = one->second;
    for (; one != best.end() && one->second == row; ++one)
      label += (label.empty() ? "" : ", ") + std::string(one->first);
    items += answer_item(label, fmt::format("{}: {}", point_in_words(result.sweep, result.rows[row].point),
                                            needs_in_words(result, needs[row])));
  }
  html += answer_list(items + unknown);
  if (const std::string words = intervals_in_words(result, needs); !words.empty()) html += paragraph(words);
  return html;
}

namespace {

/// "name: 8 GPUs (97.6 %), 8 to at least 64 within the expected error".
Html scaling_item(const std::string& name, const std::string& text) {
  const std::size_t end = text.starts_with("none") ? 4 : text.find(')') + 1;
  return element("li", (name.empty() ? Html() : prose(name + ": ")) +
                           element("strong", prose(text.substr(0, end))) + prose(text.substr(end))) +
         Html{"\n"};
}

Html scaling_limits(const SweepResult& result) {
  const std::vector<Series> all = series_of(result);
  if (std::ranges::none_of(all, [](const Series& series) { return series.rows.size() > 1; })) return {};
  const Efficiencies reached = efficiencies(result);
  const std::vector<std::string> names = telling_names(result, all);
  const auto reaches_largest = [&](const Series& series) {
    return efficient_up_to(reached, series, scales_well) == series.rows.back();
  };
  const bool has_many = all.size() > most_in_answer;
  Html items;
  std::size_t listed = 0;
  std::size_t to_largest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (has_many && reaches_largest(all[i])) {
      ++to_largest;
      continue;
    }
    if (++listed <= most_in_answer)
      items += scaling_item(all.size() == 1 ? "" : names[i], scaling_in_words(result, reached, all[i]));
  }
  Html html =
      subheading("Where scaling stops") + paragraph(fmt::format("The {}.", scaling_rule_in_words(result)));
  if (to_largest > 0) {
    html += paragraph(fmt::format("{} of {} series scale to their largest run{}", to_largest, all.size(),
                                  listed > 0 ? "; the others stop earlier:" : "."));
  }
  if (listed > 0) html += answer_list(items);
  if (has_many) {
    html +=
        element("p", element("a", fmt::format("All {} series", all.size()), " href=\"#stops\"")) + Html{"\n"};
  }
  return html;
}

/// The gain from larger values, key by key.
Html gains(const SweepResult& result) {
  const std::vector<GainSeries> all = gains_of(result);
  if (all.empty()) return {};
  Html items;
  for (std::size_t i = 0; i < std::min(all.size(), most_in_answer); ++i)
    items += answer_item(name_in_words(all[i]), gain_in_words(all[i]));
  Html html = subheading("Gain from larger values") +
              paragraph("Samples/s relative to the value before, with all other keys equal.") +
              answer_list(items);
  if (all.size() > most_in_answer)
    html += paragraph(fmt::format("{} more series are in the table.", all.size() - most_in_answer));
  return html;
}

/// The differences between predicted and published figures.
Html published_differences(const SweepResult& result) {
  double sum = 0;
  std::vector<double> differences;
  for (const PublishedComparison& comparison : published_comparisons(result)) {
    if (const std::optional<double> its = relative_difference(comparison)) differences.push_back(*its);
  }
  if (differences.empty()) return {};
  for (const double its : differences) sum += std::abs(its);
  const auto [least, most] = std::ranges::minmax(differences);
  const auto number = static_cast<std::int64_t>(differences.size());
  return paragraph(
      number == 1
          ? fmt::format("The published figure differs: the prediction is {} of it.", signed_percent(least))
          : fmt::format("{} are published: predictions differ by {} on average, from {} to {}.",
                        count(number, "figure"), percent(sum / static_cast<double>(number)),
                        signed_percent(least), signed_percent(most)));
}

}  // namespace

Html sweep_answer(const SweepResult& result) {
  if (failures(result) == result.rows.size()) return {};
  return in_columns({best_points_html(result), scaling_limits(result), gains(result)}) +
         published_differences(result);
}

Html sweep_caveats(const SweepResult& result) {
  Html html;
  if (const std::string words = above_peak_in_words(result); !words.empty()) html += paragraph(words + ".");
  if (const std::string words = expected_errors_in_words(result); !words.empty())
    html += paragraph(std::string(1, static_cast<char>(std::toupper(words.front()))) + words.substr(1) + ".");
  return html;
}

}  // namespace trainyard
