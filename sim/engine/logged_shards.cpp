#include "engine/logged_shards.hpp"

#include "units/ids.hpp"

#include <map>

namespace trainyard::engine {

LoggedShards logged_shards(UpdateRule rule, const ServerPlan& plan) {
  LoggedShards logged;
  if (traits(rule).awaited != Awaited::one) return logged;
  std::map<int, int> numbers;
  for (const ServerMessage& message : plan.messages) {
    for (const int shard : message.shards) numbers.emplace(shard, 0);
  }
  if (numbers.size() < 2) return logged;
  logged.count = 0;
  for (auto& [shard, number] : numbers) number = logged.count++;
  logged.messages.assign(at(logged.count), 0);
  for (const ServerMessage& message : plan.messages) {
    std::vector<int>& shards = logged.of_message.emplace_back();
    for (const int shard : message.shards) {
      shards.push_back(numbers[shard]);
      ++logged.messages[at(shards.back())];
    }
  }
  return logged;
}

}  // namespace trainyard::engine
