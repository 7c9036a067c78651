#include "sweep/gains.hpp"

#include "hand_made.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("each larger value is compared with the one before, all other keys equal") {
  const SweepResult result = made_result({"platform.fabric.nic", "platform.node.nics"},
                                         {{.values = {"200 Gbps", "1"}, .throughput = 150},
                                          {.values = {"100 Gbps", "1"}, .throughput = 100},
                                          {.values = {"400 Gbps", "1"}, .throughput = 151},
                                          {.values = {"100 Gbps", "8"}, .throughput = 200}});
  const std::vector<GainSeries> all = gains_of(result);
  REQUIRE(all.size() == 2);
  CHECK(all[0].key == "platform.fabric.nic");
  CHECK(all[0].other_keys == "platform.node.nics=1");
  CHECK(all[0].values == Texts{"100 Gbps", "200 Gbps", "400 Gbps"});
  CHECK(all[0].gains[0] == doctest::Approx(0.5));
  CHECK(all[0].gains[1] == doctest::Approx(1.0 / 150));
  CHECK(gain_ends_at(all[0]) == 1);
  CHECK(all[1].key == "platform.node.nics");
  CHECK(all[1].other_keys == "platform.fabric.nic=100 Gbps");
  CHECK(all[1].values == Texts{"1", "8"});
  CHECK(all[1].gains[0] == doctest::Approx(1));
  CHECK(!gain_ends_at(all[1]));
}

TEST_CASE("a gain that comes back later has not ended") {
  const GainSeries series{"k", "", {0, 1, 2, 3}, {"1", "2", "3", "4"}, {0.005, 0.2, 0.001}};
  CHECK(gain_ends_at(series) == 2);
  CHECK(gain_ends_at({"k", "", {0, 1}, {"1", "2"}, {-0.1}}) == 0);
}

TEST_CASE("words, numbers of GPUs, mixed units and failed points have no gains") {
  CHECK(gains_of(made_result({"precision"},
                             {{.values = {"fp32"}, .throughput = 1}, {.values = {"amp"}, .throughput = 2}}))
            .empty());
  CHECK(gains_of(
            made_result({"gpus"}, {{.values = {"1"}, .throughput = 1}, {.values = {"2"}, .throughput = 2}}))
            .empty());
  CHECK(gains_of(made_result({"platform.fabric.nic"}, {{.values = {"100 Gbps"}, .throughput = 1},
                                                       {.values = {"25 GB/s"}, .throughput = 2}}))
            .empty());
  SweepResult failed =
      made_result({"k"}, {{.values = {"1"}, .throughput = 1}, {.values = {"2"}, .throughput = 2}});
  failed.rows[1].status = PointStatus::impossible;
  CHECK(gains_of(failed).empty());
}
