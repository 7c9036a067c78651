#include "experiment/swapped_gpus.hpp"

#include "config/document.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {

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

}  // namespace trainyard
