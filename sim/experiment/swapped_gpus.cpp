#include "experiment/swapped_gpus.hpp"

#include "config/same_gpu.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// `own_gpus`: those of the platform's file, "8 a100_sxm4_40gb".
std::optional<std::string> leave_out_price_and_power(Platform& platform, const std::string& own_gpus,
                                                     std::map<std::string, std::string>& set) {
  const std::string price = "platform.node.price";
  const std::string power = "platform.node.power";
  const auto is_set = [&](const std::string& block) {
    return std::ranges::any_of(set, [&](const auto& entry) { return entry.first.starts_with(block); });
  };
  const bool has_price = (platform.price.hour || platform.price.list) && !is_set(price);
  const bool has_power = (platform.power.max || platform.power.overhead) && !is_set(power);
  if (!has_price && !has_power) return std::nullopt;
  if (has_price) {
    platform.price = {};
    set[price] = config::unset_text;
  }
  if (has_power) {
    platform.power = {};
    set[power] = config::unset_text;
  }
  return fmt::format("{} of {} left out: with {} {} in place of {} it is another machine",
                     has_price && has_power ? "price and power"
                     : has_price            ? "price"
                                            : "power",
                     platform.name, platform.gpus.size(), platform.gpu_profile, own_gpus);
}

}  // namespace

std::optional<std::string> leave_out_price_of_other_gpus(const config::Document& own,
                                                         const FileOverrides& given, Platform& platform,
                                                         std::map<std::string, std::string>& set) {
  if (!given.contains("platform.node.gpus.profile") && !given.contains("platform.node.gpus.count"))
    return std::nullopt;
  const std::string& count = own.nearest("node.gpus.count").scalar;
  const std::string& profile = own.nearest("node.gpus.profile").scalar;
  if (config::is_same_gpu(profile, platform.gpu_profile) && count == std::to_string(platform.gpus.size()))
    return std::nullopt;
  return leave_out_price_and_power(platform, fmt::format("{} {}", count, profile), set);
}

Diagnostic unused_profile_key(const Platform& platform, const std::string& key, const FileOverride& item) {
  Diagnostic problem = item.written_at.value_or(Diagnostic{});
  problem.key_path = key;
  problem.message =
      fmt::format("no effect: the ranks of {} are on {}s", platform.name, device_word(platform));
  problem.hint = platform.ranks_on_processors
                     ? "keys of its profile begin with 'processor.'; faster kernels: stack.compute_scale=0.5"
                     : "keys of its profile begin with 'gpu.'";
  return problem;
}

}  // namespace trainyard
