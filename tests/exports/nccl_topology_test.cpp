// Platforms as NCCL's topology, read back as platforms.

#include "interchange/nccl_topology.hpp"

#include "config/catalogue.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "exports/nccl_topology_xml.hpp"
#include "interchange/make_platform.hpp"
#include "interchange/platform_text.hpp"
#include "platform/load.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>

using namespace trainyard;

namespace {

const config::Catalogue shipped_files{{TRAINYARD_SOURCE_DIR}};

GpuProfile facts_of(const Platform& platform) {
  return load_gpu_facts(config::load(config::find(shipped_files, config::Kind::gpu, platform.gpu_profile)));
}

Platform shipped_platform(const std::string& name) {
  return load_platform(config::load(config::find(shipped_files, config::Kind::platform, name)));
}

Platform read_again(const std::string& xml, const Platform& original) {
  NodeLayout layout = layout_of(read_nccl_topology(plain_input("topo.xml", xml)));
  PlatformAnswers answers;
  answers.name = "again";
  answers.gpu = original.gpu_profile;
  return load_platform(config::parse("again.yaml", platform_text(make_platform(std::move(layout), answers))));
}

/// "gpu3 nvswitch0 nvlink3 12 300.0 GB/s" for each link; those between sockets without their assumed rate.
/// Switches of NVLinks count as one.
std::multiset<std::string> links_in(const Platform& platform) {
  std::multiset<std::string> links;
  std::map<std::pair<std::string, std::string>, std::pair<int, double>> to_switches;
  const auto [begin, end] = boost::edges(platform.node);
  for (auto edge = begin; edge != end; ++edge) {
    const Link& link = platform.node[*edge];
    const Device& a = platform.node[boost::source(*edge, platform.node)];
    const Device& b = platform.node[boost::target(*edge, platform.node)];
    const bool is_first = std::pair(a.kind, a.number) < std::pair(b.kind, b.number);
    const Device& one = is_first ? a : b;
    const Device& other = is_first ? b : a;
    const auto name = [](const Device& its) {
      return its.kind == DeviceKind::pcie_switch ? std::string("pcie_switch") : its.name;
    };
    const std::string kind(config::name_of(link.kind));
    const double rate = link.bandwidth.value.si();
    if (other.kind == DeviceKind::nvswitch) {
      auto& [lanes, sum] = to_switches[{one.name, kind}];
      lanes += link.lanes;
      sum += rate;
    } else if (one.kind == DeviceKind::cpu && other.kind == DeviceKind::cpu) {
      links.insert(fmt::format("{} {} {}", name(one), name(other), kind));
    } else {
      links.insert(
          fmt::format("{} {} {} {} {:.1f} GB/s", name(one), name(other), kind, link.lanes, rate / 1e9));
    }
  }
  for (const auto& [ends, sum] : to_switches)
    links.insert(
        fmt::format("{} nvswitches {} {} {:.1f} GB/s", ends.first, ends.second, sum.first, sum.second / 1e9));
  return links;
}

}  // namespace

TEST_CASE("a platform's topology for NCCL is read back with the same devices, links and rates") {
  for (const std::string name :
       {"dgx_a100", "dgx_h100", "dgx1v", "dgx2", "p3_16xlarge", "workstation_2080ti_nvlink"}) {
    CAPTURE(name);
    const Platform original = shipped_platform(name);
    const std::string xml = nccl_topology_xml(original, facts_of(original));
    const Platform again = read_again(xml, original);
    CHECK(again.gpus.size() == original.gpus.size());
    CHECK(again.cpus.size() == original.cpus.size());
    CHECK(again.nics.size() == original.nics.size());
    CHECK(links_in(again) == links_in(original));
    if (original.fabric.exists()) {
      CHECK(again.fabric.nic.value.si() == original.fabric.nic.value.si());
      CHECK(again.fabric.transport == original.fabric.transport);
      CHECK(again.fabric.gpudirect.value == original.fabric.gpudirect.value);
    }
  }
}

TEST_CASE("the GPU of a topology is known by its number on PCI") {
  const Platform platform = shipped_platform("dgx_a100");
  const std::string xml = nccl_topology_xml(platform, facts_of(platform));
  CHECK(profile_of_gpus(layout_of(read_nccl_topology(plain_input("topo.xml", xml)))) == "a100_sxm4_40gb");
  CHECK(xml.starts_with("<system version=\"1\">\n"));
}

TEST_CASE("nodes that NCCL's topology cannot hold are refused with the device") {
  const auto problem = [](const std::string& name) -> std::string {
    const Platform platform = shipped_platform(name);
    try {
      nccl_topology_xml(platform, platform.ranks_on_processors ? GpuProfile{} : facts_of(platform));
    } catch (const InputError& error) {
      return error.diagnostics().front().message;
    }
    return {};
  };
  CHECK(problem("summit").find("gpu0 is below no socket over PCIe") != std::string::npos);
  CHECK(problem("theta").find("has none") != std::string::npos);
}
