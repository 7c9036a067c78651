// Times of collectives as users ask for them: several sizes in one run, on shipped machines with other links.

#include "run/collective_sweep.hpp"

#include "collectives/protocols.hpp"
#include "config/document.hpp"
#include "engine/in_child.hpp"
#include "platform/channels.hpp"
#include "platform/load.hpp"
#include "run/collective_software.hpp"

#include <array>
#include <cstdlib>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

const std::vector<Operation> operations{
    Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::broadcast,
    Operation::reduce,     Operation::all_to_all,     Operation::send_recv};

Platform shipped(const std::string& name) {
  return load_platform(config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/" + name + ".yaml"));
}

CollectiveSoftware software_of(const Platform& platform, NcclVersion version) {
  const Protocols constants = shipped_protocols({{TRAINYARD_SOURCE_DIR}});
  return {.version = version, .costs = costs_of(constants, version, platform.fabric)};
}

CollectiveSweep sweep_of(Operation operation, std::vector<Bytes> sizes, const Platform& platform,
                         NcclVersion version) {
  return {.operation = operation,
          .groups = {},
          .sizes = std::move(sizes),
          .software = software_of(platform, version),
          .fidelity = Fidelity::closed};
}

}  // namespace

TEST_CASE("a size takes the time that it has alone, whatever was timed before it, in every fidelity") {
  constexpr std::size_t most = 3;
  using Times = std::array<double, most>;
  CHECK(rc::check("several sizes", [] {
    const std::string name =
        *rc::gen::elementOf(std::vector<std::string>{"dgx1v", "p2_8xlarge", "p3_8xlarge", "dgx2"});
    const Cluster cluster = make_cluster(shipped(name), *rc::gen::inRange(1, 4), 0, 4);
    CollectiveSweep sweep = sweep_of(*rc::gen::elementOf(operations), {}, cluster.platform,
                                     *rc::gen::element(NcclVersion::none, NcclVersion::v2_7_8));
    sweep.fidelity = *rc::gen::element(Fidelity::closed, Fidelity::flow, Fidelity::rounds, Fidelity::steps,
                                       Fidelity::steps);
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
