#include "run/update_setup.hpp"

#include "experiment/stack_rules.hpp"
#include "experiment/workers.hpp"
#include "run/simulate.hpp"
#include "schedule/step_plan.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("the work expected of servers is that which is simulated, within a factor of 3") {
  for (const char* const update : {"sync", "async", "k_sync", "ssp"}) {
    CAPTURE(update);
    Overrides overrides{{"stack", "mxnet_kvstore"}, {"sync.kind", "parameter_server"},
                        {"sync.update", update},    {"random.step.kind", "log_normal"},
                        {"random.step.sd", "0.05"}, {"steps.warmup", "1"},
                        {"steps.measured", "9"},    {"steps.repeats", "2"},
                        {"sync.shards", "1"},       {"nodes", "4"}};
    if (update == std::string("k_sync")) overrides.emplace_back("sync.k", "2");
    if (update == std::string("ssp")) overrides.emplace_back("sync.bound", "3");
    const ResolvedExperiment resolved = testing::shipped_experiment("resnet50_dgx2", overrides);
    const Run run = simulate(resolved, {});
    const Updates* const updates = updates_of(run);
    REQUIRE(updates != nullptr);
    ServerPlan plan;
    plan.messages = server_messages(ready_gradients(only_class(resolved).trace),
                                    size_of(resolved.stack.gradient_dtype, resolved.settings.precision), 1,
                                    resolved.stack.servers);
    plan.workers.resize(1);
    plan.workers.front().push.resize(3);
    const double events = expected_events(resolved, updates->settings, 100, &plan);
    CHECK(events > static_cast<double>(run.events) / 3);
    CHECK(events < static_cast<double>(run.events) * 3);
    CHECK(expected_events(resolved, updates->settings, 100, nullptr) == 10.0 * 2 * updates->settings.workers);
  }
}
