#include "collectives/protocols.hpp"

#include "collectives/machines.hpp"
#include "errors_of.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Protocols shipped_protocols() {
  return load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
}

Seconds step(const ProtocolOverheads& overheads, PathType type, Protocol protocol) {
  return overheads.step[static_cast<std::size_t>(type)][static_cast<std::size_t>(protocol)];
}

Platform with_network(Transport transport, bool gpudirect) {
  Platform platform;
  platform.fabric.transport = transport;
  platform.fabric.gpudirect.value = gpudirect;
  return platform;
}

}  // namespace

TEST_CASE("the shipped constants read back to equal ones, to the byte") {
  const Protocols shipped = shipped_protocols();
  const std::string text = protocols_text(shipped);
  CHECK(protocols_text(load_protocols(config::parse("nccl.yaml", text))) == text);
}

TEST_CASE("every shipped constant says what it rests on") {
  const Protocols shipped = shipped_protocols();
  for (int type = 0; type < static_cast<int>(PathType::network); ++type) {
    const MediumOverheads& medium = medium_of(shipped.paths, static_cast<PathType>(type));
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      CHECK(medium.step.of(protocol).provenance != Provenance::unstated);
      CHECK(medium.efficiency.of(protocol).provenance != Provenance::unstated);
    }
  }
  CHECK(shipped.launch.provenance == Provenance::fitted);
}

TEST_CASE("the network decides which constants hold between nodes") {
  const Protocols all = shipped_protocols();
  const auto of_network = [&](Transport transport, bool gpudirect) {
    const ProtocolOverheads overheads =
        overheads_of(all, NcclVersion::v2_12, with_network(transport, gpudirect));
    return step(overheads, PathType::network, Protocol::simple);
  };
  CHECK(of_network(Transport::tcp, false) == all.networks.tcp.step.simple.value);
  CHECK(of_network(Transport::efa, true) == all.networks.efa.step.simple.value);
  CHECK(of_network(Transport::infiniband, true) == all.networks.infiniband.step.simple.value);
  CHECK(of_network(Transport::infiniband, false) == all.networks.through_host.step.simple.value);
  CHECK(of_network(Transport::roce, false) == all.networks.through_host.step.simple.value);
}

TEST_CASE("2.4 takes longer steps over NVLink with Simple alone") {
  const Protocols all = shipped_protocols();
  const ProtocolOverheads old = overheads_of(all, NcclVersion::v2_4, {});
  const ProtocolOverheads newer = overheads_of(all, NcclVersion::v2_12, {});
  const double factor = all.versions.v2_4.nvlink_simple_step.value;
  CHECK(step(old, PathType::nvlink2, Protocol::simple).si() ==
        doctest::Approx(factor * step(newer, PathType::nvlink2, Protocol::simple).si()));
  CHECK(step(old, PathType::nvlink2, Protocol::ll) == step(newer, PathType::nvlink2, Protocol::ll));
  CHECK(step(old, PathType::phb, Protocol::simple) == step(newer, PathType::phb, Protocol::simple));
}

TEST_CASE("without NCCL there are no costs") {
  const ProtocolOverheads overheads = overheads_of(shipped_protocols(), NcclVersion::none, {});
  CHECK(step(overheads, PathType::nvlink2, Protocol::simple) == Seconds{});
  CHECK(overheads.launch == Seconds{});
}

TEST_CASE("constants without a unit, a negative one and a missing medium are all reported") {
  std::string text = protocols_text(shipped_protocols());
  const auto replace_after = [&](const std::string& key, const std::string& what, const std::string& with) {
    const std::size_t at = text.find(what, text.find(key));
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), with);
  };
  replace_after("paths:", "  pix:", "  pixx:");
  replace_after("launch:", "value: ", "value: -");
  const auto errors = errors_of([&] { load_protocols(config::parse("nccl.yaml", text)); });
  CHECK(errors.size() >= 3);  // unknown, missing, negative
}

TEST_CASE("collectives begin with the base of the node's NVLinks, if these have their own") {
  const Protocols all = shipped_protocols();
  const auto base = [&](const char* platform) {
    const ProtocolOverheads overheads =
        overheads_of(all, NcclVersion::v2_30, shipped_cluster(platform, 1).platform);
    return overheads.base[static_cast<std::size_t>(Protocol::ll)];
  };
  CHECK(base("dgx_h100") == all.paths.nvlink4.base.value().ll.value);
  CHECK(base("dgx_a100") == all.paths.nvlink3.base.value().ll.value);
  CHECK_FALSE(all.paths.nvlink2.base);
  CHECK(base("dgx2") == all.base.ll.value);
  CHECK(base("v100_pcie_server") == all.base.ll.value);
}

TEST_CASE("a step over NVLink or PCIe takes what no GPU falls below") {
  // 0.4 us: NCCL's smallest figure of any version (tables_2_6 in nccl_time.cpp)
  const Protocols all = shipped_protocols();
  for (int type = 0; type < static_cast<int>(PathType::network); ++type) {
    CAPTURE(type);
    CHECK(medium_of(all.paths, static_cast<PathType>(type)).step.ll.value >= Seconds{0.4e-6});
  }
}
