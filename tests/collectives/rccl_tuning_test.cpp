// RCCL on eight GPUs that xGMI joins: its choices, and its times against published curves of rccl-tests.

#include "collectives/rccl_tuning.hpp"

#include "collectives/algorithms.hpp"
#include "collectives/nccl_steps.hpp"
#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

constexpr double one_kib = 1024;
constexpr double one_mib = one_kib * 1024;
constexpr double one_gib = one_mib * 1024;

NcclShape eight_gpus(Operation operation = Operation::all_reduce, int nodes = 1) {
  return {.version = NcclVersion::v2_30,
          .is_rccl = true,
          .operation = operation,
          .ranks = 8 * nodes,
          .nodes = nodes,
          .channels = 7,
          .inside = Bandwidth{48e9},
          .between = Bandwidth{48e9},
          .worst_inside = PathType::xgmi};
}

void check_choice(const NcclShape& shape, double size, Algorithm algorithm, Protocol protocol) {
  const NcclChoice choice = rccl_choice(shape, Bytes{size});
  CAPTURE(size);
  CHECK(choice.algorithm == algorithm);
  CHECK(choice.protocol == protocol);
}

/// The time of an all-reduce over the GPUs of one node, as RCCL plans it.
double all_reduce_time(const Cluster& cluster, double size) {
  static const Protocols constants =
      load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
  Planner planner(cluster,
                  {.library = CommunicationLibrary::rccl,
                   .version = NcclVersion::v2_30,
                   .overheads = overheads_of(constants, NcclVersion::v2_30, cluster.platform)},
                  {.operation = Operation::all_reduce, .groups = {all_ranks(cluster)}});
  std::vector<Pattern> patterns;
  const Collective made = planner.collective(Bytes{size}, patterns);
  return time_alone(made, [&](int pattern) { return rate_alone(cluster, patterns[at(pattern)]); }).si();
}

using Curve = std::vector<std::pair<double, double>>;  ///< bytes, microseconds

/// Mean and largest error of a platform's times, from a size on.
std::pair<double, double> curve_errors(const std::string& platform, const Curve& curve,
                                       double from = one_mib) {
  const Cluster cluster = shipped_cluster(platform, 1);
  double sum = 0;
  double most = 0;
  int points = 0;
  for (const auto& [size, time] : curve) {
    if (size < from) continue;
    const double error = std::abs(all_reduce_time(cluster, size) / (time * us) - 1);
    INFO(platform << ", " << size << " bytes: " << error);
    CHECK(error < 0.15);
    sum += error;
    most = std::max(most, error);
    ++points;
  }
  return {sum / points, most};
}

}  // namespace

TEST_CASE("all-reduces on eight GPUs of a node go between all pairs up to 16 MiB, then over rings") {
  using enum Protocol;
  check_choice(eight_gpus(), one_kib, Algorithm::direct, ll);
  check_choice(eight_gpus(), 512 * one_kib - 1, Algorithm::direct, ll);
  check_choice(eight_gpus(), 512 * one_kib, Algorithm::direct, simple);
  check_choice(eight_gpus(), 16 * one_mib, Algorithm::direct, simple);
  check_choice(eight_gpus(), 16 * one_mib + 1, Algorithm::ring, simple);
  check_choice(eight_gpus(), one_gib, Algorithm::ring, simple);
}

TEST_CASE("programs between all pairs are for all-reduces of eight GPUs that xGMI joins") {
  using enum Protocol;
  for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter, Operation::broadcast}) {
    check_choice(eight_gpus(operation), one_kib, Algorithm::ring, ll);
    check_choice(eight_gpus(operation), one_gib, Algorithm::ring, simple);
  }
  NcclShape four = eight_gpus();
  four.ranks = 4;
  CHECK(rccl_choice(four, Bytes{one_mib}).algorithm != Algorithm::direct);
  CHECK(rccl_choice(eight_gpus(Operation::all_reduce, 2), Bytes{one_mib}).algorithm != Algorithm::direct);
  NcclShape pcie = eight_gpus();
  pcie.worst_inside = PathType::phb;
  CHECK(rccl_choice(pcie, Bytes{one_mib}).algorithm != Algorithm::direct);
  CHECK(rccl_choice(eight_gpus(), Bytes{one_mib}, Algorithm::ring).algorithm == Algorithm::ring);
}

TEST_CASE("a ring's estimate is the sum of its steps and bytes over the rings' bandwidth") {
  const NcclChoice ring{.algorithm = Algorithm::ring, .protocol = Protocol::simple};
  const double expected = (17 + 14 * 2.1) * us + one_gib / (7 * 48e9 * 8 / 14);
  CHECK(rccl_time(eight_gpus(), ring, Bytes{one_gib}).value().si() ==
        doctest::Approx(expected).epsilon(1e-12));
  // 2.21 has no trees with Simple on one node, none of other operations, and LL128 on none of these GPUs
  const NcclChoice tree{.algorithm = Algorithm::tree, .protocol = Protocol::simple};
  CHECK_FALSE(rccl_time(eight_gpus(), tree, Bytes{one_gib}));
  CHECK(rccl_time(eight_gpus(Operation::all_reduce, 2), tree, Bytes{one_gib}));
  CHECK_FALSE(rccl_time(eight_gpus(Operation::all_gather, 2), tree, Bytes{one_gib}));
  CHECK_FALSE(rccl_time(eight_gpus(), {.algorithm = Algorithm::ring, .protocol = Protocol::ll128}, Bytes{1}));
}

TEST_CASE("seven rings use all links of eight GPUs, in both directions") {
  const Cluster cluster = shipped_cluster("server_mi300x", 1);
  const CollectivePlan plan =
      plan_by(Algorithm::ring, cluster, over_all_ranks(cluster, Operation::all_reduce));
  CHECK(plan.channels == 7);
  const std::vector<LinkUse> uses = link_uses(plan.patterns.front());
  CHECK(uses.size() == 56);
  for (const LinkUse& use : uses) CHECK(use.times == 1);
}

TEST_CASE("between all pairs a phase takes a step and an eighth of the bytes over one link") {
  const Cluster cluster = shipped_cluster("server_mi300x", 1);
  const double step = 9.89 * us;
  const double rate = 0.728 * 45.2e9;
  for (const double size : {one_mib, 16 * one_mib})
    CHECK(all_reduce_time(cluster, size) == doctest::Approx(2 * (step + size / 8 / rate)).epsilon(1e-9));
}

// AMD's curve (Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X, 2025-03-02), on
// which the constants rest.
TEST_CASE("the curve that the constants rest on is met from 1 KiB to 16 GiB") {
  const Curve curve{
      {one_kib, 13.11},       {2 * one_kib, 13.09},   {4 * one_kib, 13.27},  {8 * one_kib, 13.30},
      {16 * one_kib, 13.54},  {32 * one_kib, 13.31},  {64 * one_kib, 13.77}, {128 * one_kib, 14.14},
      {256 * one_kib, 16.87}, {512 * one_kib, 24.41}, {one_mib, 27.42},      {2 * one_mib, 34.81},
      {4 * one_mib, 51.72},   {8 * one_mib, 83.68},   {16 * one_mib, 148.8}, {32 * one_mib, 244.1},
      {64 * one_mib, 429.1},  {128 * one_mib, 797.4}, {256 * one_mib, 1537}, {512 * one_mib, 3026},
      {one_gib, 5971},        {2 * one_gib, 11891},   {4 * one_gib, 23680},  {8 * one_gib, 47278},
      {16 * one_gib, 94254}};
  const auto [mean, most] = curve_errors("server_mi300x", curve, one_kib);
  CHECK(mean < 0.03);
  CHECK(most < 0.15);
}

// hisohara/ai-scripts 0780bb3c, a qualification by AMD (M. Hilgeman, 2025-07-07) and Oracle's quick start of
// MI355X, all on GitHub. No constant rests on them but the rate of the MI355X's links.
TEST_CASE("curves of other machines with MI300X, MI325X, MI350X and MI355X are met from 1 MiB") {
  const Curve mi300x{{one_mib, 28.39},        {2 * one_mib, 36.68},   {4 * one_mib, 52.96},
                     {8 * one_mib, 84.78},    {16 * one_mib, 149.9},  {32 * one_mib, 246.3},
                     {64 * one_mib, 432.5},   {128 * one_mib, 800.3}, {256 * one_mib, 1540.4},
                     {512 * one_mib, 3027.1}, {one_gib, 5990.7},      {2 * one_gib, 11940},
                     {4 * one_gib, 23841},    {8 * one_gib, 47617}};
  CHECK(curve_errors("server_mi300x", mi300x).first < 0.02);
  CHECK(curve_errors("server_mi325x", {{4 * one_gib, 23719}, {8 * one_gib, 47217}, {16 * one_gib, 94222}})
            .first < 0.05);
  const Curve mi350x{{8 * one_mib, 81.35},  {16 * one_mib, 141.8},  {32 * one_mib, 254.0},
                     {64 * one_mib, 405.1}, {128 * one_mib, 695.7}, {256 * one_mib, 1318.3},
                     {512 * one_mib, 2589}, {one_gib, 5184.9},      {2 * one_gib, 10279},
                     {4 * one_gib, 20515},  {8 * one_gib, 40903}};
  CHECK(curve_errors("server_mi350x", mi350x).first < 0.06);
  CHECK(curve_errors("server_mi355x", {{8 * one_gib, 36956}, {16 * one_gib, 73913}}).first < 0.02);
}
