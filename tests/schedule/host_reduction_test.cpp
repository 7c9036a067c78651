#include "schedule/host_reduction.hpp"

#include "platform/channels.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr double pcie = 16 * 0.75e9;  // effective, of big_basin
constexpr double sum = 4e9;

ResolvedExperiment big_basin(const Overrides& set = {}) {
  return testing::shipped_experiment("resnet50_big_basin", set);
}

std::vector<Launch> staged(const ResolvedExperiment& resolved, Operation operation) {
  std::vector<Launch> launches(1);
  launches.front().operation = operation;
  launches.front().size = Bytes(25e6);
  const std::vector<Rank> ranks = all_ranks(*resolved.cluster);
  reduce_on_hosts({.sum_per_core = {.value = Bandwidth(sum)}}, *resolved.cluster, ranks, launches);
  return launches;
}

}  // namespace

TEST_CASE("a reduction between nodes is copied to the host, summed by a core and copied back") {
  const Launch launch = staged(big_basin({{"nodes", "4"}}), Operation::all_reduce).front();
  constexpr double latency = 5e-6;
  CHECK(launch.before.duration.si() > 25e6 / pcie);
  CHECK(launch.before.duration.si() < 25e6 / pcie + latency);
  const double back = (launch.after.duration - launch.before.duration).si();
  CHECK(back == doctest::Approx(0.75 * 25e6 / sum).epsilon(1e-9));
  CHECK(launch.before.is_of_host);
  CHECK(staged(big_basin({{"nodes", "4"}}), Operation::broadcast).front().before.duration == Seconds());
  CHECK(staged(big_basin({{"nodes", "1"}}), Operation::all_reduce).front().before.duration == Seconds());
}

TEST_CASE("sums on hosts are refused where nothing uses them") {
  CHECK_THROWS_AS(big_basin({{"sync.kind", "peer_to_peer"}, {"sync.algorithm", "auto"}}), InputError);
  CHECK_THROWS_AS(
      big_basin({{"stack.gradient_work",
                  "[{name: x, reads: 1, writes: 1, of: fp32, ranks: many, when: before, source: a}]"}}),
      InputError);
  CHECK_NOTHROW(
      big_basin({{"stack.gradient_work",
                  "[{name: x, reads: 1, writes: 1, of: fp32, ranks: all, when: before, source: a}]"}}));
}
