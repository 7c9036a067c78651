#pragma once
// Software that pulls tensor by tensor: a shard sends the new parameters of a message as soon as it has
// updated them, before the rest of the update is made.

#include "strategy/update_rule.hpp"

#include <cstdint>
#include <vector>

namespace trainyard::engine {

class TensorPulls {
public:
  TensorPulls(const UpdateSettings& settings, int messages);

  /// A shard has the gradient of `message` from `worker`. Returns the workers to which it now sends the
  /// message's parameters, for their next steps; valid until the next call.
  const std::vector<int>& received(int worker, int message, const UpdateRules& rules);

  /// `worker` pushes another gradient.
  void began_push(int worker);

  /// `worker` fetches a message. Returns whether it must be sent, and counts it as sent then. If not, the
  /// worker has the parameters of the last update, or they are on their way.
  bool fetch(int worker, int message);

  /// The gradients of these workers are used in an update, and so not in the next update of any tensor.
  void used(const std::vector<int>& workers);

  /// An update has cancelled all gradients under way.
  void cancelled();

private:
  void join_senders(int worker, int message, int awaited);
  void count_arrival(int worker, int message, int awaited);

  const UpdateRuleTraits& rule_;
  bool counts_versions_;  ///< tensors are sent to each gradient's sender, if newer than those that it has
  int workers_;
  std::vector<int> arrivals_;  ///< by message: pushes since its last update
  std::vector<std::vector<int>>
      senders_;  ///< by message, if contributors are released: workers since its last update
  std::vector<std::int64_t> versions_;           ///< by message, if counted: updates so far
  std::vector<std::vector<std::int64_t>> held_;  ///< by worker and message, if counted: version it was sent
  std::vector<char> goes_on_;  ///< by worker, if bounded: it goes on after the push under way
  std::vector<int> receivers_;
};

}  // namespace trainyard::engine
