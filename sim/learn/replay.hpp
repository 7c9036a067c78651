#pragma once
// Real gradients in the order of a simulated run: takes the reads and updates of an order log one by one and
// computes the parameters that the job's servers (or ranks) would have had. Times are not changed.
//
// What each update does with the gradients g_i that it uses, each computed at its worker's copy w_i:
//   velocity = momentum * velocity + mean of rate_i * g_i;  w = w - velocity
// With local_sgd and downpour workers also apply each gradient to their own copy, and g_i is the sum over the
// steps pushed together: for local_sgd the update is then the mean of the workers' parameters, also if these
// started differently: then w is at first the mean of the starts.
// With `sent` below 1 a worker sends the largest values of its gradient plus what it has not sent so far, and
// keeps the others for later (error feedback). What is kept are gradients, which get the rate of the update
// that sends them; algorithm 1 of Stich et al. 2018, arXiv 1809.07599, keeps gradients times the rate of
// their own step. Both are equal at a constant rate, not with `adagrad` or the warm-up of `linear_scaling`.

#include "learn/learn_settings.hpp"
#include "learn/objective.hpp"
#include "strategy/order_log.hpp"
#include "strategy/update_rule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// Reports settings of `learn` at `path` that the update rule cannot be combined with.
void check_learning_rule(const LearnSettings& settings, UpdateRule rule, const std::string& path,
                         config::Problems& problems);

/// Totals since the beginning. Sums over a model's shards are divided by their number where this is said.
struct ReplayTotals {
  std::int64_t shard_updates = 0;
  std::int64_t uses = 0;     ///< gradients in updates of shards
  std::int64_t batches = 0;  ///< mini-batches in these gradients
  double staleness_sum = 0;  ///< over uses
  double rate_sum = 0;       ///< over mini-batches: the factor of its gradient in the update
  /// Estimates of |G|^2 and of the trace of the covariance of one sample's gradient, summed over the updates
  /// whose gradients were all fresh: McCandlish et al., arXiv 1812.06162, appendix A.1, with B1 one worker's
  /// batch and B2 that of all.
  double gradient_squared = 0;
  double covariance_trace = 0;
};

class Replay {
public:
  /// All three must outlive the replay. `log`: of a run with the update rule `rule`.
  Replay(const OrderLog& log, UpdateRule rule, const LearnSettings& settings, Objective& objective);

  /// The update that next() will apply; null after the last.
  [[nodiscard]] const ShardUpdate* upcoming() const;
  /// Applies the next update of a shard.
  void next();

  [[nodiscard]] std::span<const double> parameters() const { return parameters_; }
  [[nodiscard]] const ReplayTotals& totals() const { return totals_; }
  /// Updates of the whole model.
  [[nodiscard]] long long updates() const { return totals_.shard_updates / log_.shards; }
  /// Samples whose gradients are in the parameters.
  [[nodiscard]] long long samples() const { return totals_.batches * batch_ / log_.shards; }

private:
  /// Steps of a worker whose summed gradient goes into an update of each shard.
  struct Needed {
    std::int32_t first = 0;
    std::int32_t steps = 0;
    std::int32_t shards = 0;  ///< that have not used it yet
  };
  struct Gradient {
    Needed needed;
    std::int32_t computed = 0;           ///< of its steps
    std::vector<double> sum;             ///< over these steps
    std::vector<double> from;            ///< the parameters of its first step, for by_distance
    std::vector<std::int64_t> versions;  ///< by shard, of its first step
  };
  struct Worker {
    std::vector<double> copy;
    std::vector<std::int64_t> versions;  ///< by shard
    std::vector<double> rates;           ///< for adagrad with local steps: of each parameter, as read
    std::vector<Needed> needed;          ///< ascending
    std::size_t next = 0;                ///< the first of `needed` that is not computed
    std::vector<Gradient> gradients;     ///< computed, or begun, and not used by all shards
    std::vector<double> rest;            ///< of gradients that are sent in parts: not sent so far
  };

  struct Part {  ///< of the parameters: a shard
    std::size_t begin, end;
  };
  [[nodiscard]] Part part(int shard) const;
  /// Workers begin with different parameters, whose mean is the first version.
  void start_differently();
  void read(const ShardRead& read);
  /// Computes the needed gradients of a worker's steps before `limit`.
  void compute(int worker, std::int32_t limit);
  void compute_step(int worker, Gradient& gradient);
  Gradient& gradient_of(const GradientUse& use);
  /// The values of a gradient that its worker sends: all of them, or the largest.
  std::span<const double> sent(int worker, const Gradient& gradient);
  /// The rate of the schedule at this moment.
  [[nodiscard]] double scheduled_rate() const;
  [[nodiscard]] double rate_of(const Gradient& gradient, const ShardUpdate& update, Part part) const;
  void apply(const ShardUpdate& update, Part part);
  void apply_adagrad(Part part);
  /// The gradients of an update that are all fresh: the sum of their squared norms, and their common rate.
  struct UpdateNoise {
    bool is_fresh = true;
    double squares = 0;
    double factor = 0;
  };
  [[nodiscard]] bool measures_noise(const ShardUpdate& update) const;
  void add_noise(const UpdateNoise& noise, Part part);
  void release(const GradientUse& use);

  const OrderLog& log_;
  const LearnSettings& settings_;
  Objective& objective_;
  bool has_local_steps_;
  int batch_;
  std::size_t gradients_per_update_ = 1;  ///< of the last update, at first of the first
  std::vector<double> parameters_;
  std::vector<double> velocity_;
  std::vector<double> squares_;  ///< for adagrad: sum of squared gradients
  std::vector<double> change_;
  std::vector<double> step_gradient_;
  std::vector<double> sent_, sizes_;    ///< of sent()
  std::vector<std::int64_t> versions_;  ///< by shard
  std::vector<Worker> workers_;
  std::vector<Gradient> unused_;  ///< to be used again: memory
  std::size_t next_read_ = 0;
  std::size_t next_update_ = 0;
  ReplayTotals totals_;
};

}  // namespace trainyard
