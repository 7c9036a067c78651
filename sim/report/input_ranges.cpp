#include "report/input_ranges.hpp"

#include "document/page.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace trainyard {
namespace {

using nlohmann::ordered_json;

/// "platform.node.nics=1..8 (8 here): 9.33 samples/s at 1, 21.9 at 8"
std::string input_in_words(const InputRange& input) {
  std::string text =
      fmt::format("{}={} ({} here): {} samples/s at {}, {} at {}", input.key, input.range, input.value,
                  rounded(input.at_low.throughput), input.low, rounded(input.at_high.throughput), input.high);
  if (input.between.empty()) return text;
  const auto throughput = [](const ValueSpeed& one) { return one.speed.throughput; };
  const auto [least, most] = std::ranges::minmax(input.between, {}, throughput);
  const auto [low, high] = std::minmax(input.at_low.throughput, input.at_high.throughput);
  if (throughput(least) < low)
    text += fmt::format(", least {} at {}", rounded(throughput(least)), least.value);
  if (throughput(most) > high) text += fmt::format(", most {} at {}", rounded(throughput(most)), most.value);
  return text;
}

/// The range of throughputs, wider by the expected error of the run.
std::optional<ErrorBounds> with_expected_error(const Run& run) {
  if (!run.expected_error) return std::nullopt;
  return ErrorBounds{.low = run.ranges->slowest.throughput * (1 + run.expected_error->low),
                     .high = run.ranges->fastest.throughput * (1 + run.expected_error->high)};
}

ordered_json input_json(const InputRange& input) {
  return {{"key", input.key},
          {"low", input.low},
          {"high", input.high},
          {"value", input.value},
          {"step_time_at_low_s", input.at_low.time.si()},
          {"step_time_at_high_s", input.at_high.time.si()},
          {"throughput_at_low_samples_per_s", input.at_low.throughput},
          {"throughput_at_high_samples_per_s", input.at_high.throughput}};
}

ordered_json between_json(const InputRange& input) {
  ordered_json all = ordered_json::array();
  for (const ValueSpeed& one : input.between)
    all.push_back({{"value", one.value},
                   {"step_time_s", one.speed.time.si()},
                   {"throughput_samples_per_s", one.speed.throughput}});
  return all;
}

}  // namespace

std::string ranges_in_words(const Run& run) {
  const InputRanges& ranges = *run.ranges;
  const InputRange& decisive = ranges.inputs.at(ranges.decisive);
  std::string text = fmt::format("{} to {} samples/s, a step {} to {}; ", rounded(ranges.slowest.throughput),
                                 rounded(ranges.fastest.throughput), estimate(ranges.fastest.time),
                                 estimate(ranges.slowest.time));
  if (const auto bounds = with_expected_error(run))
    text += fmt::format("with the expected error {} to {} samples/s; ", rounded(bounds->low),
                        rounded(bounds->high));
  if (ranges.inputs.size() == 1) return text + input_in_words(decisive);
  text += fmt::format("{}; {} decides. Each alone: {}",
                      ranges.are_simulated ? "the slowest and the fastest combination of ends"
                                           : "the effects of all inputs combined in quadrature",
                      decisive.key, input_in_words(decisive));
  for (const InputRange& input : ranges.inputs) {
    if (&input != &decisive) text += "; " + input_in_words(input);
  }
  return text;
}

std::string assumed_in_words(const Run& run) {
  std::string text;
  for (const InputRange& input : run.assumed->inputs) {
    text += fmt::format(
        "{} {} {} of {}{}: {} samples/s at {}, {} at {}",
        !text.empty()        ? "; and on"
        : run.expected_error ? "the expected error includes that the step rests on"
                             : "the step rests on",
        input.reason == "hypothetical" ? "a hypothetical" : "an assumed", input.value, input.key,
        input.places > 1 ? fmt::format(" and {} more", count(input.places - 1, "key")) : "",
        rounded(input.at_low.throughput), input.low, rounded(input.at_high.throughput), input.high);
  }
  return text;
}

ordered_json assumed_json(const InputRanges& assumed) {
  ordered_json inputs = ordered_json::array();
  for (const InputRange& input : assumed.inputs) {
    ordered_json& json = inputs.emplace_back(input_json(input));
    json["reason"] = input.reason;
    json["places"] = input.places;
  }
  return inputs;
}

void add_ranges(ordered_json& json, const Run& run) {
  const InputRanges& ranges = *run.ranges;
  ordered_json& inputs = json["ranges"] = ordered_json::array();
  for (const InputRange& input : ranges.inputs) {
    ordered_json& one = inputs.emplace_back(input_json(input));
    one["between"] = between_json(input);
    one["is_of_file"] = input.is_of_file;
  }
  json["range_of_results"] = {{"step_time_low_s", ranges.fastest.time.si()},
                              {"step_time_high_s", ranges.slowest.time.si()},
                              {"throughput_low_samples_per_s", ranges.slowest.throughput},
                              {"throughput_high_samples_per_s", ranges.fastest.throughput},
                              {"decisive_key", ranges.inputs.at(ranges.decisive).key},
                              {"combined", ranges.are_simulated ? "simulated" : "quadrature"}};
  if (const auto bounds = with_expected_error(run)) {
    json["range_of_results"]["expected_throughput_low_samples_per_s"] = bounds->low;
    json["range_of_results"]["expected_throughput_high_samples_per_s"] = bounds->high;
  }
}

}  // namespace trainyard
