#pragma once
// Which gradients an update waits for, and who may go on when it has been made: the synchronous,
// asynchronous and in-between ways of stochastic gradient descent. A state machine without time: the engine
// says which worker's gradient has arrived, and is told what follows.
//
// Definitions: Dutta et al., arXiv 1803.01113 and 2003.10579 (K-sync, K-batch-sync, K-async, K-batch-async);
// Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server", NIPS 2013
// (ssp); Dean et al., "Large scale distributed deep networks", NIPS 2012 (downpour); Chen et al.,
// arXiv 1604.00981 (backup workers: k_sync).

#include "config/keys.hpp"
#include "units/ids.hpp"

#include <cstdint>
#include <vector>

namespace trainyard {

enum class UpdateRule { sync, k_sync, k_batch_sync, async, k_async, k_batch_async, ssp, local_sgd, downpour };

struct UpdateSettings {
  UpdateRule rule = UpdateRule::sync;
  int workers = 1;
  int k = 1;            ///< gradients in an update, of the k_ rules
  int bound = 0;        ///< of ssp: steps that the fastest worker may be ahead of the slowest
  int push_every = 1;   ///< of local_sgd and downpour: steps whose gradients go to the server together
  int fetch_every = 1;  ///< of downpour: steps with the same parameters, but for the worker's own changes
};

/// What follows from a gradient. Valid until the next call.
struct UpdateDecision {
  bool is_update = false;               ///< there is a new version
  std::vector<int> contributors;        ///< whose gradients are in it; one may be there several times
  std::vector<std::int64_t> staleness;  ///< of each: its version minus the one the gradient was computed from
  std::vector<int> released;            ///< begin their next step, ascending
  bool others_cancelled = false;        ///< what released workers were computing is thrown away
};

class UpdateRules {
public:
  explicit UpdateRules(const UpdateSettings& settings);

  /// `worker` reads the newest parameters: what it computes from now on is computed from them.
  void fetched(int worker) { based_on_[at(worker)] = version_; }
  /// `worker` has computed a step from what it fetched last; it may add several up.
  void computed(int worker);
  /// `worker` sends off what it has added up: the version that this was computed from, the oldest of several.
  std::int64_t pushed(int worker);
  /// That gradient of `worker` is there.
  const UpdateDecision& gradient(int worker, std::int64_t from);

  /// Nothing has changed since `worker` fetched.
  [[nodiscard]] bool has_newest(int worker) const { return based_on_[at(worker)] == version_; }

  [[nodiscard]] std::int64_t version() const { return version_; }
  /// Of ssp: finished steps that a worker was ahead of the slowest when it began another, at most so far.
  [[nodiscard]] std::int64_t lead() const { return lead_; }

private:
  void update();
  void release(int worker) { decision_.released.push_back(worker); }
  void release_all();
  void release_within_bound();

  UpdateSettings settings_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> based_on_;  ///< by worker: the version it fetched last
  std::vector<std::int64_t> sum_from_;  ///< by worker: the oldest version that its sum was computed from
  std::vector<std::int64_t> clocks_;    ///< by worker: gradients delivered
  std::vector<bool> waits_;             ///< by worker, of ssp
  std::int64_t lead_ = 0;
  std::vector<int> collected_;                ///< whose gradients wait for the update
  std::vector<std::int64_t> collected_from_;  ///< the versions they were computed from
  UpdateDecision decision_;
};

/// Waits for k gradients, a number that is given.
bool takes_k(UpdateRule rule);

/// Gradients in an update.
int gradients_per_update(const UpdateSettings& settings);

/// All workers begin every update anew, so that an update is a step of all of them.
bool is_synchronous(UpdateRule rule);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<UpdateRule> {
  static constexpr std::string_view what = "update rule";
  static constexpr std::array table{
      Name{"sync", UpdateRule::sync, "one update per step, from all ranks"},
      Name{"k_sync", UpdateRule::k_sync, "the first k ranks; the others are cancelled (backup workers)"},
      Name{"k_batch_sync", UpdateRule::k_batch_sync,
           "the first k gradients, whoever computed them; the others are cancelled"},
      Name{"async", UpdateRule::async, "every gradient at once"},
      Name{"k_async", UpdateRule::k_async, "the first k ranks; the others go on with old parameters"},
      Name{"k_batch_async", UpdateRule::k_batch_async, "the first k gradients; nobody waits"},
      Name{"ssp", UpdateRule::ssp, "every gradient at once, no rank more than bound steps ahead"},
      Name{"local_sgd", UpdateRule::local_sgd, "parameters are averaged every push_every steps"},
      Name{"downpour", UpdateRule::downpour,
           "gradients of push_every steps at once; new parameters every fetch_every steps"}};
};

}  // namespace trainyard::config
