#include "jobs/setting_value.hpp"

#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace trainyard::jobs {
namespace {

/// A whole number from 1 to `most`. Products of a job's counts stay far below the largest long long.
struct Count {
  std::string_view key;
  long long most;
  bool zero_is_off = false;
};

constexpr long long largest_size = 1'000'000'000;
constexpr long long largest_degree = 1'000'000;

constexpr std::array counts{Count{"nodes", 1'048'576},
                            Count{"gpus", 10'000'000},
                            Count{"gpus_per_node", 10'000},
                            Count{"@tasks", 10'000'000},
                            Count{"@tasks_per_node", 10'000},
                            Count{"@gpus_per_task", 10'000},
                            Count{"batch_per_gpu", 10'000'000},
                            Count{"@global_batch", 1'000'000'000},
                            Count{"accumulation", 65'536},
                            Count{"@pipeline_microbatch", 10'000'000},
                            Count{"parallelism.tensor", largest_degree},
                            Count{"parallelism.pipeline", largest_degree},
                            Count{"parallelism.context", largest_degree},
                            Count{"parallelism.expert", largest_degree},
                            Count{"parallelism.expert_tensor", largest_degree, true},
                            Count{"parallelism.virtual_stages", largest_degree, true},
                            Count{"@layers_per_virtual_stage", 10'000, true},
                            Count{"@recomputed_layers", 10'000, true},
                            Count{"@expert_groups", 100'000, true},
                            Count{"@group_limit", 100'000, true},
                            Count{"@autotp", largest_degree, true},
                            Count{"@replicas", largest_degree, true},
                            Count{"@global_tokens", 1'000'000'000'000},
                            Count{"@lora_dim", 100'000, true},
                            Count{"@query_rank", 1'000'000, true},
                            Count{"@key_value_rank", 1'000'000, true},
                            Count{"@plain_dim", 100'000, true},
                            Count{"@rope_dim", 100'000, true},
                            Count{"@value_dim", 100'000, true},
                            Count{"@hpz", largest_degree, true},
                            Count{"@shard_degree", largest_degree},
                            Count{"@replicate_degree", largest_degree},
                            Count{"@tensor_degree", largest_degree},
                            Count{"@pipeline_degree", largest_degree},
                            Count{"@context_degree", largest_degree},
                            Count{"@expert_degree", largest_degree},
                            Count{"model.decoder.layers", 10'000},
                            Count{"model.decoder.hidden", 1'000'000},
                            Count{"model.decoder.heads", 1'000'000},
                            Count{"model.decoder.kv_heads", 1'000'000},
                            Count{"@query_groups", 1'000'000, true},
                            Count{"model.decoder.head_dim", 100'000},
                            Count{"model.decoder.ffn", 10'000'000},
                            Count{"sequence_length", 10'000'000},
                            Count{"@positions", largest_size, true},
                            Count{"model.decoder.vocabulary", 100'000'000},
                            Count{"@vocabulary_multiple", 1'000'000},
                            Count{"model.decoder.experts", 100'000, true},
                            Count{"model.decoder.experts_per_token", 100'000, true},
                            Count{"model.decoder.expert_ffn", 10'000'000, true},
                            Count{"model.decoder.shared_expert_ffn", 10'000'000, true},
                            Count{"job.steps", 1'000'000'000'000, true},
                            Count{"@steps", 1'000'000'000'000, true},
                            Count{"@bucket_values", 1'000'000'000'000, true}};

const Count* count_of(std::string_view key) {
  const auto found = std::ranges::find(counts, key, &Count::key);
  return found == counts.end() ? nullptr : &*found;
}

/// Keys that the layers of a job's software state, with the devices.
bool is_of_machine(std::string_view key) {
  return key == "nodes" || key == "gpus" || key == "gpus_per_node" || key == "@tasks_per_node";
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "gpu:h100:8(S:0-1),nvme:1" and "h100:8" are 8 GPUs, "2-4" and "2:4" are at least 2, and a list of devices
/// is their number.
TakenValue machine_value(std::string_view text) {
  TakenValue value{.kind = TakenValue::Kind::stated};
  if (text.starts_with('[')) {
    value.value = std::to_string(text == "[]" ? 0 : std::ranges::count(text, ',') + 1);
    return value;
  }
  bool is_found = text.find(',') == std::string_view::npos;
  for (std::string_view rest = text; !is_found && !rest.empty();) {  // generic resources of Slurm
    const std::string_view part = rest.substr(0, rest.find(','));
    if (small_letters(part).starts_with("gpu") || part.starts_with("gres/gpu")) {
      text = part;
      is_found = true;
    }
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  if (!is_found) return {};
  text = text.substr(0, text.find('('));
  if (text.starts_with("gpu:") || text.starts_with("GPU:")) text.remove_prefix(4);
  const std::size_t colon = text.rfind(':');
  if (const std::size_t dash = text.find_first_of("-:");
      dash != std::string_view::npos && is_digits(text.substr(0, dash)) && is_digits(text.substr(dash + 1))) {
    value.remark = fmt::format("the least of {} to {} counts", text.substr(0, dash), text.substr(dash + 1));
    text = text.substr(0, dash);
  } else if (colon != std::string_view::npos) {
    value.gpu = std::string(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  } else if (!is_digits(text) && text.find_first_of("0123456789") == std::string_view::npos) {
    return {.kind = TakenValue::Kind::elsewhere};  // "YOUR_NODES"
  }
  value.value = std::string(text);
  return value;
}

bool is_of_environment(std::string_view value) {
  return contains(value, "$") || contains(value, "`") || value.starts_with("???");
}

/// Left to the software. A degree of -1 is the number of GPUs that remain.
bool is_left_open(std::string_view value, std::string_view key) {
  return value == "auto" || value == "gpu" || value == "cuda" || value == "null" || value == "None" ||
         value == "~" || value == "[]" || value == "{}" || (value == "-1" && !key.ends_with("_degree"));
}

/// Words that switch something off, and have no meaning as a value of the key.
bool is_switched_off(std::string_view word, std::string_view key) {
  constexpr std::array<std::string_view, 6> with_false{"@fsdp_strategy",     "@amp_o2",
                                                       "model.decoder.tied", "model.decoder.bias",
                                                       "@mixed_precision",   "@overlap_comm"};
  if (word == "false" || word == "off" || word == "no")
    return std::ranges::find(with_false, key) == with_false.end();
  constexpr std::array<std::string_view, 4> without_none{"@offload", "@fp8", "@quantization", "@converters"};
  return word == "none" && std::ranges::find(without_none, key) != without_none.end();
}

/// "32_768" and "8.0" as whole numbers.
std::optional<long long> whole_number(std::string text) {
  std::erase(text, '_');
  if (const Parsed<long long> whole = parse_integer(text)) return *whole;
  const Parsed<double> number = parse_number(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 1e15) return std::nullopt;
  return static_cast<long long>(*number);
}

TakenValue counted(const Setting& setting, const Count& count, TakenValue value) {
  const std::optional<long long> number = whole_number(value.value);
  const bool is_rest = number == -1 && count.key.ends_with("_degree");
  if (number == 0 && count.zero_is_off) return {};
  if (!number || *number > count.most || (*number < 1 && !is_rest))
    return {.kind = TakenValue::Kind::wrong,
            .remark = fmt::format("{} takes whole numbers from 1 to {}, not {}", in_quotes(setting.key),
                                  count.most, in_quotes(setting.value))};
  value.value = std::to_string(*number);
  return value;
}

}  // namespace

TakenValue taken_value(const Setting& setting, const KeyRule& rule) {
  if (!rule.value.empty()) {  // a switch
    if (is_off(setting) || setting.value == "auto" || is_left_open(setting.value, rule.text)) return {};
    return {.kind = TakenValue::Kind::stated, .value = std::string(rule.value)};
  }
  if (is_of_environment(setting.value)) return {.kind = TakenValue::Kind::elsewhere};
  if (is_left_open(setting.value, rule.text)) return {};
  if (setting.value.empty()) {
    if (!setting.is_switch || count_of(rule.text) != nullptr) return {};
    return {.kind = TakenValue::Kind::stated, .value = "true"};
  }
  const std::string word = small_letters(setting.value);
  if (is_switched_off(word, rule.text)) return {};
  if (word == "true" || word == "false") return {.kind = TakenValue::Kind::stated, .value = word};
  TakenValue value{.kind = TakenValue::Kind::stated, .value = setting.value};
  if (is_of_machine(rule.text)) value = machine_value(setting.value);
  const Count* const count = count_of(rule.text);
  return count == nullptr || value.kind != TakenValue::Kind::stated || is_left_open(value.value, rule.text)
             ? value
             : counted(setting, *count, std::move(value));
}

bool is_neutral(const Setting& setting, const KeyRule& rule) {
  if (rule.value.empty()) return is_off(setting);
  if (rule.value == "on") return !is_off(setting) || setting.value.empty();
  const std::string word = small_letters(setting.value);
  return word == small_letters(rule.value) || word == "null" || word == "auto" || word == "none";
}

}  // namespace trainyard::jobs
