// OneFlow's copies in place of an all-to-all, in a whole step.

#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace trainyard;

namespace {

Run wide_deep_with(int start_us) {
  return simulate(testing::shipped_experiment(
                      "wide_deep_dlperf",
                      {{"software", "ideal"},
                       {"stack.layer_copies", fmt::format("{{value: {} us, assumed: a test}}", start_us)}}),
                  {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("each copy's start makes a step longer, and in one node no all-to-all follows the copies") {
  const Run fast = wide_deep_with(16);
  const auto& ops = fast.experiment.classes.front().trace.ops;
  const auto exchanges =
      std::ranges::count_if(ops, [](const Op& op) { return op.layer.ends_with(".copies"); });
  CHECK(exchanges == 2);  // the deep table's columns, forward and backward
  constexpr int copies = 8 * 7;
  const Seconds later = wide_deep_with(32).pace.time - fast.pace.time;
  CHECK(later.si() == doctest::Approx(static_cast<double>(exchanges) * copies * 16e-6));
  for (const Op& op : ops) {
    for (const OpCommunication& communication : op.communications)
      CHECK(communication.operation != Operation::all_to_all);
  }
}
