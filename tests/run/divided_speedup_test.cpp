// The speed-up of layers that replicas divide: against one rank with the whole model and all their samples.
#include "run/figures.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using trainyard::testing::shipped_experiment;

namespace {

Run run_of(const std::string& experiment, int nodes, int batch) {
  return simulate(shipped_experiment(experiment, {{"nodes", std::to_string(nodes)},
                                                  {"batch_per_gpu", std::to_string(batch)}}),
                  {});
}

}  // namespace

TEST_CASE("the rank alone takes as long as a run on one node with the same samples") {
  const Run divided = run_of("distbelief_speech", 8, 32);
  const Run alone = run_of("distbelief_speech", 1, 256);
  CHECK(divided.pace.one_rank.si() == doctest::Approx(alone.pace.time.si()).epsilon(1e-9));
  CHECK(divided.pace.speedup == doctest::Approx(alone.pace.time / divided.pace.time).epsilon(1e-9));
  CHECK(divided.pace.efficiency == doctest::Approx(divided.pace.speedup / 8).epsilon(1e-12));
  CHECK(divided.pace.throughput / alone.pace.throughput ==
        doctest::Approx(divided.pace.speedup).epsilon(1e-9));
  const Known<FigureValue> overhead = figures()[index_of("communication_overhead_s")].of(divided);
  REQUIRE_FALSE(overhead);  // no difference of two steps with different samples
  CHECK(overhead.error().find("samples of all ranks") != std::string::npos);
}

TEST_CASE("a model divided by space is compared with whole maps, too") {
  const Run divided = run_of("distbelief_image", 9, 2);
  const Run alone = run_of("distbelief_image", 1, 18);
  CHECK(divided.pace.one_rank.si() == doctest::Approx(alone.pace.time.si()).epsilon(1e-9));
  CHECK(divided.pace.speedup < 9);
}

TEST_CASE("groups that hold copies count by their number") {
  const auto grouped = [](int group) {
    return simulate(
        shipped_experiment("distbelief_speech", {{"parallelism.layer_group", std::to_string(group)}}),
        {.fidelity = Fidelity::closed});
  };
  const Run pairs = grouped(2);
  const Run all = run_of("distbelief_speech", 2, 32);
  CHECK(pairs.pace.one_rank.si() == doctest::Approx(all.pace.one_rank.si()).epsilon(1e-9));
  CHECK(pairs.pace.speedup == doctest::Approx(4 * (pairs.pace.one_rank / pairs.pace.time)).epsilon(1e-9));
}
