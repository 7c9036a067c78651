#pragma once
// Which gradients an update waits for, and which workers may go on after it: synchronous, asynchronous and
// in-between variants of stochastic gradient descent. A state machine without time: the engine reports the
// arrival of each worker's gradient and gets the decision.
//
// Definitions: Dutta et al., arXiv 1803.01113 and 2003.10579 (K-sync, K-batch-sync, K-async, K-batch-async);
// Ho et al., "More effective distributed ML via a stale synchronous parallel parameter server", NIPS 2013
// (ssp); Dean et al., "Large scale distributed deep networks", NIPS 2012 (downpour); Chen et al., arXiv
// 1604.00981 (backup workers: k_sync).

#include "config/traits.hpp"
#include "units/ids.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace trainyard {

enum class UpdateRule { sync, k_sync, k_batch_sync, async, k_async, k_batch_async, ssp, local_sgd, downpour };

/// The gradients that an update waits for.
enum class Awaited { of_all, k, one };

/// The workers that begin their next step when a gradient has arrived.
enum class Release {
  all,            ///< all of them, at an update
  all_or_sender,  ///< all of them at an update, otherwise its sender
  contributors,   ///< those with a gradient in an update, at the update
  sender,         ///< its sender
  within_bound    ///< those at most `bound` steps ahead of the slowest
};

/// Everything in which update rules differ.
struct UpdateRuleTraits {
  Awaited awaited = Awaited::of_all;
  Release release = Release::all;
  bool sums_steps = false;     ///< pushes the sum of `push_every` steps
  bool in_background = false;  ///< pushes while it computes, and fetches every `fetch_every` steps
  bool averages = false;       ///< pushes parameters, which the update averages, in place of gradients

  [[nodiscard]] constexpr bool takes_k() const { return awaited == Awaited::k; }
  [[nodiscard]] constexpr bool is_bounded() const { return release == Release::within_bound; }
  /// All workers begin anew after every update, so that an update is a step of all of them.
  [[nodiscard]] constexpr bool is_synchronous() const {
    return release == Release::all || release == Release::all_or_sender;
  }
  /// Every update waits for every worker, so that no servers are needed.
  [[nodiscard]] constexpr bool waits_for_all() const { return awaited == Awaited::of_all; }
  /// k is a number of workers: none has several gradients in an update.
  [[nodiscard]] constexpr bool counts_workers() const {
    return takes_k() && (release == Release::all || release == Release::contributors);
  }
  /// An update drops the unfinished steps of all workers.
  [[nodiscard]] constexpr bool cancels() const { return takes_k() && is_synchronous(); }
  /// No worker ever waits for another.
  [[nodiscard]] constexpr bool never_waits() const {
    return awaited == Awaited::one && release == Release::sender;
  }
  /// An update is the step of one worker with the batches of all: nothing is stale, dropped or local.
  [[nodiscard]] constexpr bool is_one_batch() const { return waits_for_all() && !sums_steps; }
};

inline constexpr std::array update_rules{
    config::Row{"sync", UpdateRule::sync, "one update per step, from all ranks", UpdateRuleTraits{}},
    config::Row{"k_sync", UpdateRule::k_sync, "the first k ranks; the others are cancelled (backup workers)",
                UpdateRuleTraits{.awaited = Awaited::k}},
    config::Row{"k_batch_sync", UpdateRule::k_batch_sync,
                "the first k gradients from any ranks; the others are cancelled",
                UpdateRuleTraits{.awaited = Awaited::k, .release = Release::all_or_sender}},
    config::Row{"async", UpdateRule::async, "every gradient is applied as it arrives",
                UpdateRuleTraits{.awaited = Awaited::one, .release = Release::sender}},
    config::Row{"k_async", UpdateRule::k_async, "the first k ranks; the others go on with old parameters",
                UpdateRuleTraits{.awaited = Awaited::k, .release = Release::contributors}},
    config::Row{"k_batch_async", UpdateRule::k_batch_async, "the first k gradients; nobody waits",
                UpdateRuleTraits{.awaited = Awaited::k, .release = Release::sender}},
    config::Row{"ssp", UpdateRule::ssp,
                "every gradient is applied as it arrives; no rank is more than 'bound' steps ahead",
                UpdateRuleTraits{.awaited = Awaited::one, .release = Release::within_bound}},
    config::Row{"local_sgd", UpdateRule::local_sgd, "parameters are averaged every push_every steps",
                UpdateRuleTraits{.sums_steps = true, .averages = true}},
    config::Row{
        "downpour", UpdateRule::downpour,
        "gradients are pushed every push_every steps and parameters fetched every fetch_every steps",
        UpdateRuleTraits{
            .awaited = Awaited::one, .release = Release::sender, .sums_steps = true, .in_background = true}}};

constexpr const UpdateRuleTraits& traits(UpdateRule rule) { return config::traits_in<update_rules>(rule); }

/// k grows as the model learns: its chooser is told of every update, and looks at the loss after every
/// `every` updates.
struct KGrowth {
  int every = 1;
  int most = 1;  ///< the largest k
};

struct UpdateSettings {
  UpdateRule rule = UpdateRule::sync;
  int workers = 1;
  int k = 1;            ///< gradients per update, for the k_ rules; with `growth` at the start
  int bound = 0;        ///< for ssp: steps that the fastest worker may be ahead of the slowest
  int push_every = 1;   ///< for local_sgd and downpour: steps whose gradients are pushed together
  int fetch_every = 1;  ///< for downpour: steps between two fetches of parameters
  std::optional<KGrowth> growth = {};
};

/// The consequences of a gradient. Valid until the next call.
struct UpdateDecision {
  bool is_update = false;         ///< there is a new version
  std::vector<int> contributors;  ///< workers with a gradient in the update; one may be listed several times
  std::vector<std::int64_t> staleness;  ///< by contributor: the new version minus that of its parameters
  std::vector<int> released;            ///< workers that begin their next step, ascending
  bool drops_unfinished = false;        ///< the unfinished steps of released workers are dropped
};

class UpdateRules {
public:
  explicit UpdateRules(const UpdateSettings& settings);

  /// `worker` fetches the newest parameters and computes its next gradients from them.
  void fetched(int worker) { based_on_[at(worker)] = version_; }
  /// `worker` has computed a step from the parameters it fetched last; it may sum several steps.
  void computed(int worker);
  /// `worker` sends its sum; returns the version it was computed from, the oldest if there are several.
  std::int64_t pushed(int worker);
  /// The gradient of `worker` computed from version `from` has arrived.
  const UpdateDecision& gradient(int worker, std::int64_t from);

  /// Sets k from the next update on; for the k_ rules, right after an update.
  void set_k(int k) { settings_.k = k; }

  /// Whether there was no update since `worker` fetched.
  [[nodiscard]] bool has_newest(int worker) const { return based_on_[at(worker)] == version_; }

  /// Gradients that the next update waits for.
  [[nodiscard]] int awaited() const;

  /// For ssp: whether `worker` goes on as soon as its next gradient has arrived, without waiting for others.
  [[nodiscard]] bool goes_on(int worker) const;

  [[nodiscard]] std::int64_t version() const { return version_; }
  /// For ssp: the largest number of finished steps a worker was ahead of the slowest when it began another.
  [[nodiscard]] std::int64_t lead() const { return lead_; }

private:
  void update();
  void release(int worker) { decision_.released.push_back(worker); }
  void release_all();
  void release_within_bound();

  UpdateSettings settings_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> based_on_;  ///< by worker: the version it fetched last
  std::vector<std::int64_t> sum_from_;  ///< by worker: the oldest version in its sum
  std::vector<std::int64_t> clocks_;    ///< by worker: gradients delivered
  std::vector<bool> waits_;             ///< by worker, for ssp
  std::int64_t lead_ = 0;
  std::vector<int> collected_;                ///< workers whose gradients wait for the update
  std::vector<std::int64_t> collected_from_;  ///< the versions these were computed from
  UpdateDecision decision_;
};

/// Gradients in an update.
int gradients_per_update(const UpdateSettings& settings);

/// The fewest workers with which the rule goes on making updates.
int workers_needed(const UpdateSettings& settings);

}  // namespace trainyard

template <>
struct trainyard::config::Names<trainyard::UpdateRule> {
  static constexpr std::string_view what = "update rule";
  static constexpr std::array table = names_in<update_rules>();
};
