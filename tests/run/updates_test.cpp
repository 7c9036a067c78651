#include "run/updates.hpp"

#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

TrainingRecord record_of(double begun, std::vector<double> dates) {
  return {.begun = Seconds{begun},
          .ended = Seconds{dates.back()},
          .updates = static_cast<std::int64_t>(dates.size()),
          .dates = std::move(dates),
          .gradients = 1,
          .staleness = {0, 1},
          .workers = {},
          .spans = {}};
}

}  // namespace

TEST_CASE("quantiles of the times between updates are over all repeats, each from its own beginning") {
  const ResolvedExperiment one = testing::shipped_experiment("resnet50_dgx2", {});
  UpdateSettings settings;
  settings.workers = 0;
  // times 1, 2, 3, 4, 5 and 6 in two repeats of three
  const Updates updates = updates_from({record_of(10, {11, 13, 16}), record_of(1, {5, 10, 16})}, *one.cluster,
                                       settings, 1, StepCounts{});
  CHECK(updates.each.p50.si() == doctest::Approx(3.5));
  CHECK(updates.each.p90.si() == doctest::Approx(5.5));
  CHECK(updates.each.p99.si() == doctest::Approx(5.95));
}
