// Steps whose kernels take other times than the model's: what of their communication stays hidden.

#include "run/step_at_pace.hpp"

#include "run/checks.hpp"
#include "run/export_trace.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <rapidcheck.h>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// In-process: `closed` needs no SimGrid.
Run in_closed_form(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

/// Some experiments that are bound by their network, some by their kernels.
Overrides some_job() {
  const std::string model = *rc::gen::element<std::string>("alexnet", "resnet50");
  const int batch = *rc::gen::element(1, 8, 64);
  const int nodes = *rc::gen::element(1, 2, 4);
  return {{"model", model},
          {"batch_per_gpu", std::to_string(batch)},
          {"nodes", std::to_string(nodes)},
          {"gpus", std::to_string(8 * nodes)},
          {"stack", *rc::gen::element<std::string>("pytorch_ddp", "horovod", "megatron")}};
}

}  // namespace

TEST_CASE("a factor that is the same for all is a trace whose ops take so many times as long") {
  const TemporaryFolder folder;
  CHECK(rc::check("constant factors", [&] {
    const ResolvedExperiment model = shipped_experiment("resnet50_dlperf", [] {
      Overrides job = some_job();
      job.emplace_back("stack", "pytorch_ddp");
      job.emplace_back("stack.overlap_slows", "false");
      return job;
    }());
    // of 6 bits: a step is replayed at these
    const double factor = std::ldexp(*rc::gen::inRange(32, 64) / 64.0, *rc::gen::inRange(-4, 5));
    ResolvedExperiment nominal = model;
    nominal.classes.front().trace = export_trace(model, true);
    ResolvedExperiment scaled = nominal;
    for (Op& op : scaled.classes.front().trace.ops) {
      op.duration = *op.duration * factor;
      op.kernel = op.kernel * factor;
    }
    nominal.settings.random.step.emplace().mean = factor;
    nominal.settings.steps = {.warmup = 1, .measured = 2, .repeats = 1};
    const Run random = in_closed_form(nominal);
    const Run steady = in_closed_form(scaled);
    RC_LOG() << "x " << factor << ": " << random.pace.time.si() << " s, as a trace " << steady.pace.time.si()
             << " s\n";
    RC_ASSERT(std::abs(random.pace.time / steady.pace.time - 1) < 1e-9);
    RC_ASSERT(std::abs(random.links.most - steady.links.most) < 1e-9);
  }));
}

TEST_CASE("no random factor makes a step shorter than what its links need") {
  CHECK(rc::check("links carry no more than they can", [] {
    Overrides job = some_job();
    const double mean = std::exp(*rc::gen::inRange(-80, 20) / 10.0);
    const std::string distribution =
        *rc::gen::element(fmt::format("{{kind: constant, mean: {:.3g}}}", mean),
                          fmt::format("{{kind: exponential, mean: {:.3g}}}", mean),
                          fmt::format("{{kind: pareto, shape: 0.6, mean: {:.3g}}}", mean),
                          fmt::format("{{kind: log_normal, sd: {:.3g}, mean: {:.3g}}}", 3 * mean, mean));
    const std::string what = *rc::gen::element<std::string>("step", "node", "gpu", "op");
    job.emplace_back("random", "{" + what + ": " + distribution + "}");
    job.emplace_back("steps", "{warmup: 1, measured: 3, repeats: 3}");
    if (*rc::gen::arbitrary<bool>()) {
      job.emplace_back("sync.update", "local_sgd");
      job.emplace_back("sync.push_every", "2");
    }
    const Run run = in_closed_form(shipped_experiment("resnet50_dlperf", job));
    RC_ASSERT(!run.links.rows.empty());
    for (const LinkRow& link : run.links.rows) {
      RC_ASSERT(link.utilization <= 1 + 1e-9);
      const Seconds needed = link.bytes / link.capacity;
      RC_ASSERT(updates_of(run)->time.low >= needed * (1 - 1e-9));
    }
  }));
}

TEST_CASE("a slower rank hides more of its communication, and never more than all") {
  const ResolvedExperiment resolved =
      shipped_experiment("resnet50_dlperf", {{"model", "alexnet"}, {"stack.overlap_slows", "false"}});
  const Run steady = in_closed_form(resolved);
  std::vector<Seconds> collectives;
  Seconds compute;
  for (const CollectiveRow& row : step_of(steady).collectives) collectives.push_back(row.end - row.start);
  for (const OpRow& row : slowest_class(step_of(steady)).ops) compute += row.duration;
  StepAtPace step(step_of(steady).plan, collectives,
                  std::vector<bool>(only_class(resolved).trace.ops.size(), true));
  CHECK((compute + step.beyond(compute)).si() == doctest::Approx(steady.pace.time.si()).epsilon(1e-12));
  CHECK(step.least() > Seconds{});
  CHECK(step.beyond({}) >= step.least());
  Seconds beyond = step.beyond({});
  Seconds time = beyond;
  for (double pace = 0.01; pace < 1e4; pace *= 1.37) {
    const Seconds now = step.beyond(compute * pace);
    CHECK(now <= beyond + compute * pace * 1e-14);  // rounding
    CHECK(compute * pace + now >= time * (1 - 1e-12));
    CHECK(now > Seconds{});
    beyond = now;
    time = compute * pace + now;
  }
}

TEST_CASE("a run of many updates that beats physics is found out") {
  TrainingRecord good;
  good.begun = Seconds{10};
  good.ended = Seconds{20};
  good.updates = 5;
  good.workers.resize(2);
  good.workers[0].computing = Seconds{4};
  good.workers[0].wasted = Seconds{1};
  good.workers[0].waiting = Seconds{6};
  good.workers[1].computing = Seconds{7};
  good.workers[1].communicating = Seconds{3};
  const std::vector<LinkRow> links{{"up", Bandwidth{1e9}, Bytes{1.9e9}, 0.95},
                                   {"down", Bandwidth{1e9}, {}, 0}};
  CHECK(violations(std::vector{good, good}, links, Seconds{2}).empty());
  CHECK(violations(std::vector{good, good}, links, Seconds{2.001}).size() == 2);
  std::vector<LinkRow> overloaded = links;
  overloaded[0].utilization = 1.001;
  REQUIRE(violations(std::vector{good}, overloaded, {}).size() == 1);
  CHECK(violations(std::vector{good}, overloaded, {})[0].starts_with("up "));
  TrainingRecord busy = good;
  busy.workers[1].loading = Seconds{0.01};
  REQUIRE(violations(std::vector{good, busy}, links, {}).size() == 1);
  CHECK(violations(std::vector{good, busy}, links, {})[0].starts_with("worker 1 "));
  TrainingRecord wasteful = good;
  wasteful.workers[0].wasted = Seconds{4.01};
  CHECK(violations(std::vector{wasteful}, links, {}).size() == 1);
}
