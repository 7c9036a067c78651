#include "platform/load.hpp"
#include "platform/platform_file.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

const std::filesystem::path folder = std::filesystem::path(TRAINYARD_SOURCE_DIR) / "platforms";

std::vector<std::filesystem::path> shipped() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  return files;
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

template <class T>
bool is_stated(const Sourced<T>& figure) {
  return figure.provenance != Provenance::unstated && !figure.source.empty();
}

}  // namespace

TEST_CASE("every shipped platform loads without a warning and names its schema first") {
  REQUIRE_FALSE(shipped().empty());
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    std::vector<Diagnostic> warnings;
    CHECK_NOTHROW((void)load_platform(config::load(file), &warnings));
    CHECK(warnings.empty());
    CHECK(text_of(file).starts_with("# yaml-language-server: $schema=schema/platform.json\n"));
  }
}

TEST_CASE("every figure of the shipped platforms says where it comes from") {
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    const Platform platform = load_platform(config::load(file));
    for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
      const Link& link = platform.node[*edge];
      CAPTURE(platform.node[source(*edge, platform.node)].name);
      CHECK(is_stated(link.bandwidth));
      CHECK(is_stated(link.effective));
      CHECK(is_stated(link.latency));
    }
    if (platform.fabric.kind != FabricKind::none) {
      CHECK(is_stated(platform.fabric.nic));
      CHECK(is_stated(platform.fabric.effective));
      CHECK(is_stated(platform.fabric.latency));
      CHECK((platform.ranks_on_processors || is_stated(platform.fabric.gpudirect)));
      for (const TreeLevel& level : platform.fabric.levels) {
        CHECK(is_stated(level.nodes_per_switch));
        CHECK(is_stated(level.oversubscription));
      }
      if (std::isfinite(platform.fabric.per_flow.value.si())) CHECK(is_stated(platform.fabric.per_flow));
      if (platform.fabric.hop_latency.value > Seconds(0)) CHECK(is_stated(platform.fabric.hop_latency));
      if (platform.fabric.kind == FabricKind::rail_optimised) {
        CHECK(is_stated(platform.fabric.rail.nodes_per_rail));
        CHECK(is_stated(platform.fabric.rail.oversubscription));
        CHECK(is_stated(platform.fabric.rail.pxn));
      }
    }
    if (!platform.has_peer_to_peer) CHECK(is_stated(platform.staged));
    REQUIRE(platform.cores_per_cpu);
    CHECK(is_stated(*platform.cores_per_cpu));
    REQUIRE(platform.host_memory_bandwidth);
    CHECK(is_stated(*platform.host_memory_bandwidth));
    CHECK((platform.storage || platform.shared_storage));
    if (platform.storage) CHECK(is_stated(*platform.storage));
    if (platform.shared_storage) CHECK(is_stated(*platform.shared_storage));
    if (platform.power.max) CHECK(is_stated(*platform.power.max));
    if (platform.power.overhead) CHECK(is_stated(*platform.power.overhead));
    if (platform.price.list) CHECK(is_stated(*platform.price.list));
    if (platform.price.hour) CHECK(is_stated(*platform.price.hour));
    CHECK_FALSE(platform.sources.empty());
  }
}

TEST_CASE("no shipped platform has PCIe access control on where nothing but measured times suggests it") {
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    const Sourced<bool> redirected = load_platform(config::load(file)).fabric.redirected;
    CHECK_FALSE((redirected.value && redirected.provenance == Provenance::assumed));
  }
}

TEST_CASE("docs/machines.md lists every shipped platform") {
  const std::string readme = text_of(folder.parent_path() / "docs/machines.md");
  for (const auto& file : shipped()) {
    CAPTURE(file.string());
    CHECK(readme.find("`" + file.stem().string() + "`") != std::string::npos);
  }
}

TEST_CASE("the example of the README is a valid platform") {
  const std::string readme = text_of(folder / "README.md");
  const std::string fence = "```yaml\n";
  const std::size_t start = readme.find(fence + "# yaml-language-server") + fence.size();
  const std::string example = readme.substr(start, readme.find("```", start) - start);
  std::vector<Diagnostic> warnings;
  const Platform platform = load_platform(config::parse("two_by_four.yaml", example), &warnings);
  CHECK(warnings.empty());
  CHECK(platform.gpus.size() == 4);
  CHECK(num_edges(platform.node) == 6 + 4 + 2 + 2);
}
