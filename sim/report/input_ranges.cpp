#include "report/input_ranges.hpp"

#include "document/page.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::ordered_json;

/// "platform.node.nics=1..8 (8 here): 9.33 samples/s at 1, 21.9 at 8"
std::string input_in_words(const InputRange& input) {
  return fmt::format("{}={} ({} here): {} samples/s at {}, {} at {}", input.key, input.range, input.value,
                     rounded(input.at_low.throughput), input.low, rounded(input.at_high.throughput),
                     input.high);
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

}  // namespace

std::string ranges_in_words(const InputRanges& ranges) {
  const InputRange& decisive = ranges.inputs.at(ranges.decisive);
  std::string text = fmt::format("{} to {} samples/s, a step {} to {}; ", rounded(ranges.slowest.throughput),
                                 rounded(ranges.fastest.throughput), estimate(ranges.fastest.time),
                                 estimate(ranges.slowest.time));
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

void add_ranges(ordered_json& json, const InputRanges& ranges) {
  ordered_json& inputs = json["ranges"] = ordered_json::array();
  for (const InputRange& input : ranges.inputs) inputs.push_back(input_json(input));
  json["range_of_results"] = {{"step_time_low_s", ranges.fastest.time.si()},
                              {"step_time_high_s", ranges.slowest.time.si()},
                              {"throughput_low_samples_per_s", ranges.slowest.throughput},
                              {"throughput_high_samples_per_s", ranges.fastest.throughput},
                              {"decisive_key", ranges.inputs.at(ranges.decisive).key},
                              {"combined", ranges.are_simulated ? "simulated" : "quadrature"}};
}

}  // namespace trainyard
