#include "report/ratio_error.hpp"

#include "accuracy/expected_error.hpp"
#include "explain/comparison_error.hpp"
#include "report/expected_error.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace trainyard {

std::string verdict_word(const Comparison& comparison) {
  if (!comparison.ratio_error) return {};
  return is_beyond_error(comparison) ? "beyond" : "within";
}

std::string verdict_in_words(const Comparison& comparison) {
  constexpr double alike = 5e-5;
  if (std::abs(comparison.throughput_ratio - 1) < alike) return "both are predicted to be equally fast";
  const bool is_faster = comparison.throughput_ratio > 1;
  const std::string faster =
      fmt::format("{} is {} {} the expected error of the comparison", comparison.letter,
                  is_faster ? "faster" : "slower", verdict_word(comparison));
  if (is_beyond_error(comparison)) return faster;
  const bool has_other_sign = is_faster ? highest_ratio(comparison) < 1 : lowest_ratio(comparison) > 1;
  return faster + (has_other_sign ? ": published pairs like this one changed in the other direction"
                                  : ": both may be equally fast");
}

std::string changes_in_words(const std::vector<RunChange>& changes) {
  std::string text;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const bool is_last = i + 1 == changes.size();
    text += fmt::format("{}{}", i == 0 ? "" : (is_last ? " and " : ", "), words_of(changes[i]));
  }
  return text;
}

std::string ratio_source_in_words(const RatioError& error) {
  std::string which = "that differ in " + changes_in_words(error.changes);
  if (error.changes.empty()) {
    which = "that differ in the number of GPUs, for lack of pairs that differ in these settings alone";
  } else if (error.changes.size() > 1) {
    which = fmt::format(
        "that each differ in one of these: {}; their errors are independent and add up as squares",
        changes_in_words(error.changes));
  }
  const double ratio = (error.nearest_b.measured / error.nearest_a.measured) /
                       (error.nearest_b.predicted / error.nearest_a.predicted);
  return fmt::format(
      "measured relative to predicted ratio in 80 % of comparable published pairs ({} pairs {}){}; nearest: "
      "{} against {}, whose ratio was measured {} % from that predicted for them",
      error.pairs, which,
      error.assumed.empty() ? ""
                            : fmt::format(", plus the effect of assumed {}", fmt::join(error.assumed, ", ")),
      published_run_in_words(error.nearest_b), published_run_in_words(error.nearest_a),
      whole_percent(ratio - 1));
}

nlohmann::ordered_json ratio_error_json(const Comparison& comparison) {
  if (!comparison.ratio_error) {
    return {{"low", nullptr},
            {"high", nullptr},
            {"share", expected_share},
            {"pairs", nullptr},
            {"kind", nullptr},
            {"differ", nullptr},
            {"throughput_ratio_low", nullptr},
            {"throughput_ratio_high", nullptr},
            {"verdict", nullptr},
            {"nearest", nullptr},
            {"assumed", nullptr},
            {"reason", comparison.ratio_error.error()}};
  }
  const RatioError& error = *comparison.ratio_error;
  nlohmann::ordered_json differ = nlohmann::ordered_json::array();
  for (const RunChange change : error.changes) differ.push_back(config::name_of(change));
  return {
      {"low", error.low},
      {"high", error.high},
      {"share", expected_share},
      {"pairs", error.pairs},
      {"kind", config::name_of(kind_of(error.changes))},
      {"differ", std::move(differ)},
      {"throughput_ratio_low", lowest_ratio(comparison)},
      {"throughput_ratio_high", highest_ratio(comparison)},
      {"verdict", verdict_word(comparison)},
      {"nearest", {{"a", published_run_json(error.nearest_a)}, {"b", published_run_json(error.nearest_b)}}},
      {"assumed", error.assumed},
      {"reason", nullptr}};
}

}  // namespace trainyard
