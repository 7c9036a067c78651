// k that grows with the square root of the loss that is left.
#include "learn/adaptive_k.hpp"

#include "learn/objective.hpp"
#include "learn/replay.hpp"
#include "order_logs.hpp"
#include "quadratic.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace trainyard;

TEST_CASE("k grows with the square root of the start's loss over the loss, and never falls") {
  CHECK(grown_k(2, 2, 8, 1, 1) == 2);
  CHECK(grown_k(2, 2, 8, 1, 0.25) == 4);
  CHECK(grown_k(2, 2, 8, 1, 0.2) == 4);  // 4.47
  CHECK(grown_k(2, 5, 8, 1, 0.25) == 5);
  CHECK(grown_k(2, 2, 8, 1, 4) == 2);
  CHECK(grown_k(2, 2, 8, 1, 1e-12) == 8);
  CHECK(grown_k(2, 3, 8, 1, 0) == 8);
  CHECK(grown_k(2, 3, 8, 1, std::numeric_limits<double>::quiet_NaN()) == 3);
  CHECK(grown_k(2, 3, 8, 1, std::numeric_limits<double>::infinity()) == 3);
}

TEST_CASE("k is chosen from the loss after the updates so far, looked at after every few") {
  LearnSettings settings = quadratic_settings(0.1);
  settings.model.noise = 0;
  const UpdateSettings rule{
      .rule = UpdateRule::k_sync, .workers = 8, .k = 1, .growth = KGrowth{.every = 5, .most = 8}};
  const OrderLog whole = order_log(rule, exponential_steps(1), {.updates = 40});
  AdaptiveK adaptive(rule, settings, nullptr, 1);
  for (const int repeat : {0, 1}) {  // a repeat begins anew
    OrderLog so_far = whole;
    for (std::size_t updates = 1; updates <= whole.updates.size(); ++updates) {
      so_far.updates.assign(whole.updates.begin(), whole.updates.begin() + static_cast<long>(updates));
      const auto looked = static_cast<double>(updates - updates % 5);
      // w = 0.9^updates, the loss w^2/2: its root falls as w
      const double exact = std::pow(0.9, -looked);
      CAPTURE(updates);
      CHECK(adaptive.after_update(repeat, so_far) == std::min(8, static_cast<int>(exact + 0.5)));
    }
  }
}

TEST_CASE("k stays if nothing is learnt") {
  LearnSettings settings = quadratic_settings(1e-9);
  const UpdateSettings rule{
      .rule = UpdateRule::k_async, .workers = 8, .k = 3, .growth = KGrowth{.every = 1, .most = 8}};
  AdaptiveK adaptive(rule, settings, nullptr, 1);
  CHECK(adaptive.after_update(0, order_log(rule, exponential_steps(1), {.updates = 50})) == 3);
}
