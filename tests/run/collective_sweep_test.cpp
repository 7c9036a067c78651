// Times of collectives as users ask for them: several sizes in one run, on shipped machines with other links.

#include "run/collective_sweep.hpp"

#include "collectives/protocols.hpp"
#include "config/document.hpp"
#include "engine/in_child.hpp"
#include "experiment/collective_software.hpp"
#include "platform/channels.hpp"
#include "platform/shipped_platform.hpp"

#include <array>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <rapidcheck.h>

using namespace trainyard;
using testing::shipped_platform;

namespace {

const std::vector<Operation> operations{
    Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast,
    Operation::reduce,     Operation::all_to_all,     Operation::send_recv};

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/platforms")) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

CollectiveSoftware software_of(const Platform& platform, NcclVersion version) {
  static const Protocols constants = shipped_protocols({{TRAINYARD_SOURCE_DIR}});
  return {.version = version, .overheads = overheads_of(constants, version, platform)};
}

CollectiveSweep sweep_of(Operation operation, std::vector<Bytes> sizes, const Platform& platform,
                         NcclVersion version) {
  return {.operation = operation,
          .groups = {},
          .sizes = std::move(sizes),
          .software = software_of(platform, version),
          .fidelity = Fidelity::closed};
}

void set_latency(Platform& platform, Seconds latency) {
  const auto [first, last] = edges(platform.node);
  for (auto edge = first; edge != last; ++edge) platform.node[*edge].latency.value = latency;
}

bool mentions_latency(const CollectiveReport& report) {
  return std::ranges::any_of(
      report.notes, [](const std::string& note) { return note.find("1.25 us") != std::string::npos; });
}

}  // namespace

TEST_CASE("a size takes the time that it has alone, whatever was timed before it, in every fidelity") {
  constexpr std::size_t most = 3;
  using Times = std::array<double, most>;
  CHECK(rc::check("several sizes", [] {
    const std::string name =
        *rc::gen::elementOf(std::vector<std::string>{"dgx1v", "p2_8xlarge", "p3_8xlarge", "dgx2"});
    const Cluster cluster = make_cluster(shipped_platform(name), *rc::gen::inRange(1, 4), 0, 4);
    CollectiveSweep sweep = sweep_of(*rc::gen::elementOf(operations), {}, cluster.platform,
                                     *rc::gen::element(NcclVersion::none, NcclVersion::v2_7_8));
    sweep.fidelity = *rc::gen::element(Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::messages,
                                       Fidelity::messages);
    if (*rc::gen::arbitrary<bool>()) {
      const std::vector<Rank> ranks = all_ranks(cluster);
      sweep.groups = {{{ranks.begin(), ranks.begin() + 2}, Seconds{}},
                      {{ranks.begin() + 2, ranks.end()}, Seconds{*rc::gen::inRange(0, 3) * 1e-4}}};
    }
    std::vector<Bytes> sizes;
    for (std::size_t i = 0; i < most; ++i)
      sizes.emplace_back(static_cast<double>(*rc::gen::inRange(1, 1 << 21)));
    const auto times_of = [&](std::vector<Bytes> asked) {
      sweep.sizes = std::move(asked);
      return testing::in_child<Times>([&] {
        Times times{};
        const CollectiveReport report = time_collective(cluster, sweep);
        for (const CollectiveTiming& row : report.rows) {
          const auto size = static_cast<std::size_t>(&row - report.rows.data()) / report.groups.size();
          times.at(size) += row.time.si();
        }
        return times;
      });
    };
    const Times together = times_of(sizes);
    for (std::size_t i = 0; i < most; ++i) {
      const double alone = times_of({sizes[i]}).front();
      RC_LOG() << name << ' ' << config::name_of(sweep.operation) << ' ' << config::name_of(sweep.fidelity)
               << ": " << together.at(i) << " s, alone " << alone << " s\n";
      RC_ASSERT(std::abs(together.at(i) - alone) <= 1e-9 * alone);
    }
  }));
}

TEST_CASE("shipped links take as long as those that NCCL's steps were measured on") {
  for (const std::string& name : shipped_names()) {
    CAPTURE(name);
    const Platform platform = shipped_platform(name);
    const auto [first, last] = edges(platform.node);
    for (auto edge = first; edge != last; ++edge) {
      const Link& link = platform.node[*edge];
      CHECK(link.latency.value == usual_latency(link.kind));
    }
  }
}

TEST_CASE("no collective inside a shipped node beats its bound, however slow its links are") {
  const std::vector<std::string> names = shipped_names();
  CHECK(rc::check("time >= bound", [&] {
    Platform platform = shipped_platform(*rc::gen::elementOf(names));
    RC_PRE(platform.gpus.size() > 1);
    const int gpus = *rc::gen::inRange(2, static_cast<int>(platform.gpus.size()) + 1);
    const auto version = *rc::gen::element(NcclVersion::none, NcclVersion::v2_4, NcclVersion::v2_7_8,
                                           NcclVersion::v2_12, NcclVersion::v2_30);
    const CollectiveSweep sweep =
        sweep_of(*rc::gen::elementOf(operations),
                 {Bytes{static_cast<double>(*rc::gen::inRange(1, 1 << 30))}, Bytes{4}}, platform, version);
    std::vector<Seconds> former;
    for (const int exponent : {-9, -7, -6, -5, -4, -3, 0}) {
      const int digit = *rc::gen::inRange(1, 10);
      set_latency(platform, Seconds{std::min(1.0, digit * std::pow(10.0, exponent))});
      const CollectiveReport report = time_collective(make_cluster(platform, 1, gpus), sweep);  // throws
      for (std::size_t i = 0; i < report.rows.size(); ++i) {
        RC_ASSERT(report.rows[i].time >= report.rows[i].bound * (1 - 1e-12));
        if (!former.empty()) RC_ASSERT(report.rows[i].time >= former[i] * (1 - 1e-12));
      }
      former.clear();
      for (const CollectiveTiming& row : report.rows) former.push_back(row.time);
    }
  }));
}

TEST_CASE(
    "a slow link inside a node costs every step what it is slower, a fast one changes nothing and says so") {
  Platform platform = shipped_platform("dgx2");
  CollectiveSweep sweep = sweep_of(Operation::send_recv, {Bytes{4}}, platform, NcclVersion::v2_7_8);
  sweep.software.overheads.launch = {};  // a floor of its own
  const auto report_at = [&](double latency) {
    set_latency(platform, Seconds{latency});
    return time_collective(make_cluster(platform, 1), sweep);
  };
  const CollectiveReport usual = report_at(1.25e-6);
  const CollectiveReport slow = report_at(31.25e-6);
  const CollectiveReport fast = report_at(0.1e-6);
  // one message over two links
  CHECK(slow.rows[0].time.si() == doctest::Approx(usual.rows[0].time.si() + 60e-6).epsilon(1e-12));
  CHECK(fast.rows[0].time == usual.rows[0].time);
  CHECK(mentions_latency(fast));
  CHECK_FALSE(mentions_latency(usual));
  CHECK_FALSE(mentions_latency(slow));
  sweep.software = software_of(platform, NcclVersion::none);
  CHECK_FALSE(mentions_latency(report_at(0.1e-6)));  // the wire's latency is all there is
}
