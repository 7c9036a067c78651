#pragma once
// Replays of a noisy quadratic, update by update, and the recursions that they are checked against.
//
// Loss w^2/2, gradients w + xi with Var xi = 1 (curvature and noise are 1), rate eta, P workers with
// exponential step times, start 1. A = E[w^2], B = E[w v], C = E[v^2] and D = E[v v'], v the copy of a
// worker. A worker that contributes to an update gets the new w; each other one keeps its copy.

#include "learn/objective.hpp"
#include "learn/replay.hpp"
#include "order_logs.hpp"

#include <cmath>
#include <vector>

namespace trainyard {

inline LearnSettings quadratic_settings(double rate) {
  LearnSettings settings;
  settings.model.kind = LearnerKind::quadratic;
  settings.rate.base = rate;
  return settings;
}

/// Calls use(update, w) after each update.
template <class Use>
void replay_quadratic(const OrderLog& log, UpdateRule rule, const LearnSettings& settings, std::uint64_t seed,
                      const Use& use) {
  const auto objective = make_objective(settings, nullptr, log.workers, seed, 0);
  Replay replay(log, rule, settings, *objective);
  while (const ShardUpdate* update = replay.upcoming()) {
    const ShardUpdate now = *update;
    replay.next();
    use(now, replay.parameters()[0]);
  }
}

struct Mean {
  double mean = 0;
  double error = 0;  ///< standard error
};

/// Of correlated values: from the means of 100 equal parts.
inline Mean mean_of_series(const std::vector<double>& values) {
  constexpr std::size_t parts = 100;
  const std::size_t length = values.size() / parts;
  double sum = 0;
  double squares = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    double own = 0;
    for (std::size_t i = 0; i < length; ++i) own += values[part * length + i];
    own /= static_cast<double>(length);
    sum += own;
    squares += own * own;
  }
  const double mean = sum / parts;
  return {mean, std::sqrt((squares / parts - mean * mean) / (parts - 1))};
}

/// E[w^2] over the log, without its first thousand updates.
inline Mean floor_of_quadratic(const OrderLog& log, UpdateRule rule, const LearnSettings& settings,
                               std::uint64_t seed) {
  std::vector<double> squares;
  replay_quadratic(log, rule, settings, seed, [&](const ShardUpdate& update, double w) {
    if (update.version > 1000) squares.push_back(w * w);
  });
  return mean_of_series(squares);
}

/// E[w^2] after each of `updates` updates of `async`, the start first.
inline std::vector<double> async_recursion(int workers, double rate, int updates) {
  const double share = 1.0 / workers;
  const double b = rate;
  const double e = rate * rate;
  double A = 1;
  double B = 1;
  double C = 1;
  double D = 1;
  std::vector<double> all{A};
  for (int i = 0; i < updates; ++i) {
    const double newA = A - 2 * b * B + b * b * C + e;
    const double newB = share * newA + (1 - share) * (B - b * D);
    const double newC = share * newA + (1 - share) * C;
    const double newD = 2 * share * (B - b * D) + (1 - 2 * share) * D;
    A = newA;
    B = newB;
    C = newC;
    D = newD;
    all.push_back(A);
  }
  return all;
}

inline double async_floor(int workers, double b) {
  return b * b * (1 + b * workers) / (b * (2 + b - b * b * workers));
}
/// Of updates with k fresh gradients.
inline double sync_floor(int k, double b) { return b * b / (k * b * (2 - b)); }

inline double k_async_floor(int workers, int k, double b) {
  const double q = static_cast<double>(k) / workers;
  const double pairs = static_cast<double>(workers) * (workers - 1);
  const double s2 = k * (k - 1) / pairs;
  const double s1 = 2.0 * k * (workers - k) / pairs;
  const double s0 = 1 - s1 - s2;
  const double d = (1 - s0) / (1 - s0 + b * s1 / q);
  const double r = 1 - b * d * (1 - q) / q;
  return (b * b / k) / (2 * b * r - b * b / k * (1 + (k - 1) * d));
}

/// k_batch_async: every gradient ends a step of a worker picked at random, which goes on with the newest w.
/// S2 = E[s^2], Sw = E[s w] and Sv = E[s v] for the sum s of the gradients that wait for the update.
inline double k_batch_async_floor(int workers, int k, double rate) {
  const double share = 1.0 / workers;
  const double c = rate / k;
  double A = 1;
  double B = 1;
  double C = 1;
  double D = 1;
  double S2 = 0;
  double Sw = 0;
  double Sv = 0;
  for (int update = 0; update < 10'000; ++update) {
    for (int gradient = 1; gradient <= k; ++gradient) {
      const double newS2 = S2 + 2 * Sv + C + 1;
      const double newSw = Sw + B;
      const double others = Sv + D;  // E[s v] for the copies of the other workers
      const bool is_update = gradient == k;
      const double newA = is_update ? A - 2 * c * newSw + c * c * newS2 : A;
      const double kept = is_update ? B - c * others : B;  // E[w v] for these copies
      B = share * newA + (1 - share) * kept;
      C = share * newA + (1 - share) * C;
      D = 2 * share * kept + (1 - 2 * share) * D;
      A = newA;
      S2 = is_update ? 0 : newS2;
      Sv = is_update ? 0 : share * newSw + (1 - share) * others;
      Sw = is_update ? 0 : newSw;
    }
  }
  return A;
}

}  // namespace trainyard
