#pragma once
// The shards of parameter servers as an order log knows them.

#include "schedule/server_plan.hpp"
#include "strategy/update_rule.hpp"

#include <vector>

namespace trainyard::engine {

/// Shards that hold parameters, numbered anew. If each gradient is an update, every shard can apply its part
/// on arrival; otherwise all shards update together and count as one.
struct LoggedShards {
  int count = 1;
  std::vector<std::vector<int>> of_message;  ///< empty if there is one
  std::vector<int> messages;                 ///< by shard: messages of a push
};

LoggedShards logged_shards(UpdateRule rule, const ServerPlan& plan);

}  // namespace trainyard::engine
