#include "platform/nics_in_use.hpp"

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/load.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <set>
#include <string>

using namespace trainyard;

namespace {

/// Four GPUs, each with a NIC below a switch of its own.
Platform four_rails(const std::string& nics, const std::string& fabric = "kind: single_switch") {
  return load_platform(config::parse("four.yaml", fmt::format(R"(
name: four
node:
  gpus: {{count: 4, profile: v100_sxm2_16gb}}
  devices: {{cpu: {{count: 1}}, pcie_switch: {{count: 4}}, nic: {{count: 4}}}}
  {}
  links:
    - {{between: ["gpu[0-3]", "pcie_switch[0-3]"], pairing: in_order, kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}}
    - {{between: ["nic[0-3]", "pcie_switch[0-3]"], pairing: in_order, kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}}
    - {{between: ["pcie_switch[0-3]", cpu0], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}}
fabric: {{{}, nic: 100 Gbps, latency: 2 us}}
)",
                                                              nics, fabric)));
}

/// Numbers of the PCIe switches below which NICs are.
std::set<int> switches_with_nics(const Platform& platform) {
  std::set<int> numbers;
  for (const DeviceId nic : platform.nics) {
    for (auto [edge, end] = out_edges(nic, platform.node); edge != end; ++edge)
      numbers.insert(platform.node[target(*edge, platform.node)].number);
  }
  return numbers;
}

std::string error_of(const std::string& nics, const std::string& fabric = "kind: single_switch") {
  const auto errors = errors_of([&] { four_rails(nics, fabric); });
  return errors.empty() ? "" : errors.front().message;
}

}  // namespace

TEST_CASE("NICs in use are spread evenly and numbered from 0, and the others are gone with their links") {
  CHECK(switches_with_nics(four_rails("")) == std::set{0, 1, 2, 3});
  CHECK(switches_with_nics(four_rails("nics: 4")) == std::set{0, 1, 2, 3});
  CHECK(switches_with_nics(four_rails("nics: 3")) == std::set{0, 1, 2});
  CHECK(switches_with_nics(four_rails("nics: 2")) == std::set{0, 2});
  CHECK(switches_with_nics(four_rails("nics: 1")) == std::set{0});
  for (const int used : {1, 2, 3, 4}) {
    const Platform platform = four_rails(fmt::format("nics: {}", used));
    REQUIRE(platform.nics.size() == static_cast<std::size_t>(used));
    for (int i = 0; i < used; ++i)
      CHECK(platform.node[platform.nics[static_cast<std::size_t>(i)]].number == i);
  }
}

TEST_CASE("more NICs than the node has are an error, and so are fewer where the fabric names them") {
  CHECK(error_of("nics: 5") == "the node has 4 NICs, and 'nics' leaves some of them out");
  CHECK(!error_of("nics: 0").empty());
}
