#include "collectives/chain.hpp"

#include "collectives/all_reduce_time.hpp"
#include "collectives/ring.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "platform/load.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <string>

using namespace trainyard;

namespace {

Cluster dgx1v(int gpus) {
  return make_cluster(load_platform(config::load(TRAINYARD_SOURCE_DIR "/platforms/dgx1v.yaml")), 1, gpus);
}

/// Measured time of an all-reduce by ranks and bytes; all_reduce_v100.csv says where it comes from.
std::map<int, std::map<double, Seconds>> measured_times() {
  std::map<int, std::map<double, Seconds>> times;
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/collectives/all_reduce_v100.csv");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with('#') || line.starts_with("gpus")) continue;
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    const double bytes = std::stod(line.substr(first + 1, second - first - 1));
    times[std::stoi(line)][bytes] = Seconds{std::stod(line.substr(second + 1)) * 1e-6};
  }
  return times;
}

}  // namespace

TEST_CASE("the chain's formula: every byte crosses each lane once each way, after 2(n-1) hops") {
  const Seconds time = chain_all_reduce_time(5, Bytes{1e9}, Bandwidth{10e9}, Seconds{1e-6});
  CHECK(time.si() == doctest::Approx(0.1 + 8e-6).epsilon(1e-12));
  CHECK(chain_all_reduce_time(1, Bytes{}, Bandwidth{10e9}, Seconds{1e-6}) == Seconds{});
  // busbw is 2(n-1)/n of the lane's rate for large sizes: 1.6 on five ranks
  const Seconds large = chain_all_reduce_time(5, Bytes{1e15}, Bandwidth{10e9}, Seconds{1e-6});
  CHECK(all_reduce_busbw(5, Bytes{1e15}, large).si() == doctest::Approx(16e9).epsilon(1e-6));
}

TEST_CASE("a chain runs to its last rank and back, and each edge passes on what the one before delivered") {
  const Cluster cluster = dgx1v(5);
  const AllReducePlan plan = plan_all_reduce(cluster, NcclVersion::v2_7_8);
  CHECK(plan.algorithm == "chain");
  REQUIRE(plan.channels.size() == 1);
  const std::vector<Rank>& order = plan.channels[0].order;
  REQUIRE(plan.pattern.edges.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    const Pattern::Edge& edge = plan.pattern.edges[i];
    CHECK(edge.previous == static_cast<int>(i) - 1);
    CHECK(edge.from == (i < 4 ? order[i] : order[8 - i]));
    CHECK(edge.to == (i < 4 ? order[i + 1] : order[7 - i]));
    CHECK(plan.pattern.route(i).size() == 1);
  }
  // every hop of this chain has two lanes; it takes one
  CHECK(plan.pattern.limit.si() == doctest::Approx(22.6e9));
  const Collective collective = all_reduce(plan, Bytes{1e6}, 0);
  CHECK(bytes_sent(collective, plan.pattern).si() == doctest::Approx(8e6));
  const Seconds formula =
      plan.overhead + chain_all_reduce_time(5, Bytes{1e6}, Bandwidth{22.6e9}, plan.step_latency);
  CHECK(all_reduce_time(cluster, Bytes{1e6}).si() == doctest::Approx(formula.si()).epsilon(1e-9));
}

TEST_CASE("who asks for a ring and nothing else is told where there is none") {
  CHECK_NOTHROW(require_ring(plan_all_reduce(dgx1v(4), NcclVersion::v2_7_8)));
  try {
    require_ring(plan_all_reduce(dgx1v(5), NcclVersion::v2_7_8));
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK(error.diagnostics()[0].message == "no ring of NVLinks passes through the 5 GPUs, only a chain");
  }
}

TEST_CASE("cube mesh, 2 to 8 GPUs: within 7 % of the measured time of 1 GiB at every count") {
  const auto measured = measured_times();
  REQUIRE(measured.size() == 7);
  constexpr double size = 1073741824;
  for (const auto& [gpus, times] : measured) {
    const double error = all_reduce_time(dgx1v(gpus), Bytes{size}) / times.at(size) - 1;
    CAPTURE(gpus);
    CAPTURE(error);
    CHECK(std::abs(error) < 0.07);
  }
}

TEST_CASE("cube mesh, 8 GPUs: 1 MiB to 1 GiB within 15 % of the measured times on average") {
  const auto times = measured_times().at(8);
  REQUIRE(times.size() == 11);
  double sum = 0;
  for (const auto& [size, time] : times) sum += std::abs(all_reduce_time(dgx1v(8), Bytes{size}) / time - 1);
  MESSAGE(fmt::format("mean absolute error {:.1f} %", 100 * sum / 11));
  CHECK(sum / 11 < 0.15);
}
