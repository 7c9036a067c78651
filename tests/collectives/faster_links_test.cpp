// No link of a machine, inside or between its nodes, can be faster and a collective slower for it, as long as
// the same algorithm and protocol carry it out: the ways that channels take depend on no rate.

#include "collectives/algorithms.hpp"
#include "collectives/protocols.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

std::vector<std::string> platforms_with_fabrics() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem().string();
    if (!shipped_cluster(name, 1).platform.nics.empty()) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

ProtocolOverheads shipped_costs(NcclVersion version, const Platform& platform) {
  static const Protocols constants =
      load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
  return overheads_of(constants, version, platform);
}

void speed_up_nics(Platform& platform, double factor) {
  Fabric& fabric = platform.fabric;
  fabric.nic.value = fabric.nic.value * factor;
  fabric.effective.value = fabric.effective.value * factor;
}

template <class Chosen>
void speed_up_links(Platform& platform, double factor, Chosen is_chosen) {
  int number = 0;
  const auto [first, last] = edges(platform.node);
  for (auto edge = first; edge != last; ++edge, ++number) {
    Link& link = platform.node[*edge];
    if (!is_chosen(link, number)) continue;
    link.bandwidth.value = link.bandwidth.value * factor;
    link.effective.value = link.effective.value * factor;
  }
}

double factor_from(double least, double most) {
  return least * std::pow(most / least, *rc::gen::inRange(0, 1001) / 1000.0);
}

}  // namespace

TEST_CASE(
    "with one algorithm and protocol no faster link makes a collective slower, on any shipped machine") {
  const std::vector<std::string> names = platforms_with_fabrics();
  const std::vector<std::string> meshes{"dgx1v", "dgx1v_msccl", "dgx1v_nccl29", "dgx1_p100"};
  CHECK(rc::check("faster links", [&] {
    // half of the time whole cube meshes on several nodes: only there paths have much to choose from
    const bool is_mesh = *rc::gen::arbitrary<bool>();
    const std::string name = *rc::gen::elementOf(is_mesh ? meshes : names);
    Platform platform = shipped_cluster(name, 1).platform;
    const int nodes = *rc::gen::inRange(is_mesh ? 2 : 1, 7);
    const int gpus = static_cast<int>(platform.gpus.size());
    const int per_node = is_mesh ? gpus : *rc::gen::inRange(1, gpus + 1);
    if (nodes * per_node < 2) return;
    speed_up_nics(platform, factor_from(0.05, 2));
    const auto make = [&] { return make_cluster(platform, nodes, 0, per_node); };
    Cluster slower = make();

    CollectiveRequest request = over_all_ranks(slower, *rc::gen::elementOf(all_operations));
    request.root = *rc::gen::elementOf(request.group);
    request.protocol = *rc::gen::element(Protocol::ll, Protocol::ll128, Protocol::simple);
    const Algorithm algorithm = *rc::gen::elementOf(possible_algorithms(slower, request));
    const ProtocolOverheads overheads =
        shipped_costs(*rc::gen::element(NcclVersion::none, NcclVersion::v2_7_8), platform);
    const Bytes size{std::exp2(*rc::gen::inRange(2, 31))};
    const auto time_on = [&](const Cluster& cluster) {
      return time_alone(cluster, plan_by(algorithm, cluster, overheads, request), size);
    };

    Seconds before = time_on(slower);
    for (int step = 0; step < 12; ++step) {
      const double factor = factor_from(1.001, 2);
      const int what = std::max(0, *rc::gen::inRange(-2, 4));  // NICs more often
      const int chosen = *rc::gen::inRange(0, static_cast<int>(num_edges(platform.node)));
      if (what == 0) speed_up_nics(platform, factor);
      if (what == 1)
        speed_up_links(platform, factor, [](const Link& link, int) { return is_nvlink(link.kind); });
      if (what == 2)
        speed_up_links(platform, factor, [](const Link& link, int) { return is_pcie(link.kind); });
      if (what == 3)
        speed_up_links(platform, factor, [&](const Link&, int number) { return number == chosen; });
      const Seconds after = time_on(make());
      RC_LOG() << name << ", " << nodes << " x " << per_node << ", " << config::name_of(algorithm) << ' '
               << config::name_of(request.operation) << ' ' << config::name_of(request.protocol) << ", links "
               << what << " x " << factor << ": " << before.si() << " s, then " << after.si() << " s\n";
      RC_ASSERT(after <= before * (1 + 1e-12));
      before = after;
    }
  }));
}

TEST_CASE("channels between nodes of a cube mesh are the same at any rate of its NICs, one lane for each") {
  const auto orders_at = [](double factor) {
    Platform platform = shipped_cluster("dgx1v_nccl29", 1).platform;
    speed_up_nics(platform, factor);
    const Cluster cluster = make_cluster(platform, 2);
    std::vector<std::vector<Rank>> orders;
    for (const Channel& channel : ring_channels(cluster)) orders.push_back(channel.order);
    return orders;
  };
  const auto orders = orders_at(1);
  REQUIRE(orders.size() == 4);
  for (const double factor : {0.01, 0.2, 1.25, 1.26, 2.0, 8.0}) CHECK(orders_at(factor) == orders);

  const Cluster cluster = shipped_cluster("dgx1v_nccl29", 1);
  std::vector<int> uses(link_count(cluster), 0);
  for (const std::vector<Rank>& order : orders) {
    for (std::size_t i = 0; i + 1 < 8; ++i) {
      for (const LinkId link : route(cluster, order[i], order[i + 1]).links) ++uses[index(link)];
    }
  }
  for (std::uint32_t link = 0; link < uses.size(); ++link) CHECK(uses[link] <= lanes(cluster, LinkId{link}));
}
