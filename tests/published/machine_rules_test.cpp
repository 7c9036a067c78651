#include "rules/machine_rules.hpp"

#include "collectives/protocols.hpp"
#include "compute/gpu_profile.hpp"
#include "config/document.hpp"
#include "errors_of.hpp"
#include "platform/load.hpp"
#include "published/match_rules.hpp"
#include "published/published_text.hpp"
#include "shipped_catalogue.hpp"
#include "workload/readme_keys.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>

using namespace trainyard;

namespace {

PublishedRow row_of(const std::string& gpu, const std::string& intra, const std::string& inter = "",
                    int per_node = 8, int nodes = 1) {
  PublishedRow row;
  row.gpu = gpu;
  row.interconnect_intra = intra;
  row.interconnect_inter = inter;
  row.gpus_per_node = per_node;
  row.nodes = nodes;
  row.gpus_total = per_node * nodes;
  row.framework = "NCCL";
  return row;
}

std::vector<Diagnostic> errors_of_rules(const std::string& text) {
  return errors_of([&] { load_machine_rules(config::parse("r.yaml", text), testing::shipped_catalogue()); });
}

std::string platform_of(const PublishedRow& row) {
  const MachineRule* rule = machine_of(rules_shipped_as("published").machines.machines, row);
  return rule == nullptr ? "" : rule->platform;
}

/// GiB of the GPUs of a rule's machine.
double memory_of(const MachineRule& rule) {
  config::Document document =
      config::load(config::find(testing::shipped_catalogue(), config::Kind::platform, rule.platform));
  for (const auto& [key, value] : rule.set) config::set(document, key, value, "platform");
  const auto profile =
      config::find(testing::shipped_catalogue(), config::Kind::gpu, load_platform(document).gpu_profile);
  return load_gpu_facts(config::load(profile)).memory.capacity.value.si() / (1 << 30);
}

}  // namespace

TEST_CASE("a column meets a list if it has any of its texts and none of the forbidden") {
  const PublishedRow row = row_of("Tesla V100-SXM2-16GB", "NVLink2 hybrid cube mesh");
  const auto meets_gpu = [&](const std::vector<std::string>& texts) {
    RowPattern pattern;
    pattern.gpu = texts;
    return matches(pattern, row);
  };
  CHECK(matches({}, row));
  CHECK(meets_gpu({"P100", "v100"}));
  CHECK_FALSE(meets_gpu({"P100"}));
  CHECK_FALSE(meets_gpu({"V100", "!SXM"}));
  CHECK(meets_gpu({"!PCIe"}));
}

TEST_CASE("all that a pattern asks for must be met") {
  const PublishedRow row = row_of("Tesla V100-SXM2-16GB", "NVLink2 hybrid cube mesh");
  RowPattern pattern;
  pattern.gpu = {"V100"};
  pattern.interconnect_intra = {"cube mesh"};
  pattern.gpus_per_node = {4, 8};
  pattern.several_nodes = false;
  CHECK(matches(pattern, row));
  RowPattern other = pattern;
  other.interconnect_intra = {"NVSwitch"};
  CHECK_FALSE(matches(other, row));
  other = pattern;
  other.gpus_per_node = {4};
  CHECK_FALSE(matches(other, row));
  other = pattern;
  other.several_nodes = true;
  CHECK_FALSE(matches(other, row));
  other = pattern;
  other.year = {"2019"};
  CHECK_FALSE(matches(other, row));
  other = pattern;
  other.metric = {"_oop_"};
  CHECK_FALSE(matches(other, row));
}

TEST_CASE("rules may not ask who published a row") {
  const auto errors = errors_of_rules(
      "name: r\nmachines:\n  - {when: {source: [DeepBench]}, platform: dgx2}\n"
      "software:\n  - {when: {source: [DeepBench]}, nccl: none}\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].message.find("source") != std::string::npos);
}

TEST_CASE("a platform in the rules that is none is an error with its place and the name that was meant") {
  const auto errors = errors_of_rules(
      "name: r\nmachines:\n  - {when: {}, platform: dgx2}\n  - {when: {}, platform: dgx_a10}\n"
      "  - {when: {}, platform: dgx2, set: {fabric.speed: 1}}\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].line == 4);
  CHECK(errors[0].key_path == "machines[1].platform");
  CHECK(errors[0].message == "unknown platform 'dgx_a10'");
  CHECK(errors[0].hint.find("dgx_a100") != std::string::npos);
  CHECK(errors[1].line == 5);
  CHECK(errors[1].key_path == "machines[2].set");
  CHECK(errors[1].message.find("speed") != std::string::npos);
}

TEST_CASE("the shipped rules know machines by their columns, in words that no shipped row has") {
  CHECK(platform_of(row_of("Tesla V100-SXM2-32GB", "NVLink2 hybrid cube mesh")) == "dgx1v");
  CHECK(platform_of(row_of("NVIDIA V100-SXM3-32GB", "12 NVSwitch chips", "", 16)) == "dgx2");
  CHECK(platform_of(row_of("A100-SXM4-80GB", "NVSwitch", "")) == "dgx_a100");
  CHECK(platform_of(row_of("A100-SXM4-40GB", "NVLink3", "AWS EFA 4x100", 8, 4)) == "p4d_24xlarge");
  CHECK(platform_of(row_of("V100-SXM2-32GB", "", "EFA", 8, 2)) == "p3dn_24xlarge");
  CHECK(platform_of(row_of("RTX 2080 Ti", "PCIe 3.0", "", 8)) == "ts4");
  CHECK(platform_of(row_of("RTX 2080 Ti", "PCIe 3.0", "", 2)) == "workstation_2080ti");
  CHECK(platform_of(row_of("RTX 2080Ti", "NVLink bridge", "", 4)) == "workstation_2080ti_x4_nvlink");
  CHECK(platform_of(row_of("RTX 3090", "PCIe 4.0", "", 8)) == "server_3090");
  CHECK(platform_of(row_of("Quadro RTX 8000", "PCIe 3.0", "", 4)) == "workstation_rtx8000");
  CHECK(platform_of(row_of("RTX A6000", "PCIe 4.0", "", 2)) == "workstation_a6000");
  CHECK(platform_of(row_of("A100 40GB PCIe", "PCIe 4.0 x16", "", 4)) == "server_a100_pcie");
  CHECK(platform_of(row_of("A100-PCIE-40GB", "NVLink bridge", "", 8)) == "dss8440_nvlink");
  CHECK(platform_of(row_of("V100-SXM3-32GB-H", "NVSwitch, 300 GB/s", "8x EDR", 16, 4)) == "dgx2h");
  CHECK(platform_of(row_of("P100-SXM2", "NVLink", "50 Gb/s Ethernet", 8, 16)) == "big_basin");
  CHECK(platform_of(row_of("P100-SXM2", "NVLink1", "InfiniBand", 4, 16)) == "minsky");
  CHECK(platform_of(row_of("V100-SXM2-16GB", "NVLink", "InfiniBand 100 Gb/s", 8, 2)) == "dlperf");
  CHECK(platform_of(row_of("V100-SXM2-16GB", "", "RoCE 100 Gb/s", 1, 2)) == "dlperf");
  CHECK(platform_of(row_of("V100-SXM2-32GB", "NVLink2, 4-GPU node", "Omni-Path", 1, 2)) == "jean_zay");
  CHECK(platform_of(row_of("B200-SXM", "NVSwitch")) == "dgx_b200");
  CHECK(platform_of(row_of("B300", "NVSwitch, NVLink5")) == "dgx_b300");
  CHECK(platform_of(row_of("GB200", "NVL72", "", 4)) == "gb200_nvl72");
  CHECK(platform_of(row_of("GB300", "NVLink5, NVL72", "", 4)) == "gb300_nvl72");
  CHECK(platform_of(row_of("MI250X", "Infinity Fabric")).empty());
}

TEST_CASE("a row that states a V100 of 32 GB gets a profile of 32 GB, one of 16 GB keeps its own") {
  const auto profile_of = [](const PublishedRow& row) -> std::string {
    const MachineRule* rule = machine_of(rules_shipped_as("published").machines.machines, row);
    if (rule == nullptr) return "no rule";
    for (const auto& [key, value] : rule->set) {
      if (key == "node.gpus.profile") return value;
    }
    return rule->platform;
  };
  for (const std::string gpu : {"Tesla V100-SXM2-32GB", "V100 32GB", "V100 32 GB"}) {
    CAPTURE(gpu);
    CHECK(profile_of(row_of(gpu, "NVLink2 hybrid cube mesh")) == "v100_sxm2_32gb");
    CHECK(profile_of(row_of(gpu, "NVLink", "InfiniBand 100 Gb/s", 8, 2)) == "v100_sxm2_32gb");
    CHECK(profile_of(row_of(gpu, "NVLink", "EDR", 8, 4)) == "v100_sxm2_32gb");
    CHECK(profile_of(row_of(gpu, "NVLINK2.0 300GB/s", "", 4)) == "v100_sxm2_32gb");
    CHECK(profile_of(row_of(gpu, "NVLink2", "25 Gb/s Ethernet", 8, 2)) == "v100_sxm2_32gb");
  }
  CHECK(profile_of(row_of("Tesla V100-SXM2-32GB", "", "", 1)) == "v100_sxm2_32gb");
  CHECK(profile_of(row_of("V100 32GB", "", "", 1)) == "v100_pcie_server");  // whose profile has 32 GB
  CHECK(profile_of(row_of("V100 16GB", "NVLink", "EDR", 8, 4)) == "dlperf");
  CHECK(profile_of(row_of("V100-SXM3-32GB", "NVSwitch", "", 16)) == "dgx2");
}

TEST_CASE("the name of a GPU states its memory, in several spellings") {
  CHECK(stated_memory("V100-SXM2-32GB") == 32);
  CHECK(stated_memory("A100 - PCIe - 80 GB") == 80);
  CHECK(stated_memory("Tesla V100-SXM3-H-32GB (450W)") == 32);
  CHECK(stated_memory("GB200-186GB") == 186);
  CHECK(stated_memory("GB200") == 0);
  CHECK(stated_memory("V100") == 0);
}

TEST_CASE("a row that states a memory meets no rule whose GPU has another one") {
  const auto of = [](const std::string& gpu, const std::string& intra, const std::string& inter = "",
                     int per_node = 8, int nodes = 1) {
    const MachineRule* rule = machine_of(rules_shipped_as("published").machines.machines,
                                         row_of(gpu, intra, inter, per_node, nodes));
    return rule == nullptr ? "" : fmt::format("{} {}", rule->platform, rule->memory);
  };
  CHECK(of("A100-SXM4-80GB", "NVSwitch", "EFA", 8, 2) == "p4d_24xlarge 80");
  CHECK(of("A100-SXM4-40GB", "NVSwitch", "EFA", 8, 2) == "p4d_24xlarge 40");
  CHECK(of("A100-SXM4-80GB", "NVLink3", "RoCE", 8, 2) == "oci_bm_gpu4 80");
  CHECK(of("A100 80GB SXM", "NVSwitch", "4x HDR", 8, 2) == "dgx_a100 80");
  CHECK(of("V100-SXM2-16GB", "NVLink2", "EFA", 8, 2) == "p3dn_24xlarge 16");
  CHECK(of("H100 80GB HBM3", "NVSwitch") == "dgx_h100 80");
  CHECK(of("H100 NVL 94GB", "NVSwitch").empty());  // no rule: these have bridges
  CHECK(of("P100-PCIe-12GB", "PCIe").empty());
  CHECK(of("B200 192GB", "NVSwitch") == "dgx_b200 180");
}

TEST_CASE("every shipped row is predicted with the memory that the name of its GPU states") {
  std::map<const MachineRule*, double> known;
  int stating = 0;
  for (const PublishedRow& row : read_published_files(testing::shipped_catalogue(), {})) {
    const double stated = stated_memory(row.gpu);
    if (stated == 0 || row.report) continue;
    const char* rules = row.layout ? "layouts" : row.to_target ? "to_target" : "published";
    const MachineRule* rule = machine_of(rules_shipped_as(rules).machines.machines, row);
    if (rule == nullptr) continue;
    ++stating;
    const auto [memory, is_new] = known.try_emplace(rule);
    if (is_new) memory->second = memory_of(*rule);
    CAPTURE(row.gpu);
    CAPTURE(rule->platform);
    CHECK(memory->second == doctest::Approx(stated).epsilon(0.1));
  }
  CHECK(stating > 3000);
}

TEST_CASE("rules that name no platform or an unknown column are errors") {
  const auto errors = errors_of_rules("name: r\nmachines:\n  - when: {gpus: [V100]}\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].message.find("platform") != std::string::npos);
  CHECK(errors[1].message.find("gpus") != std::string::npos);
}

TEST_CASE("workloads/published/README.md names every column of published rows") {
  const std::string readme = readme_text("workloads/published/README.md");
  for (const PublishedColumn& column : published_columns) {
    INFO("column ", column.name);
    CHECK(readme.find("`" + std::string(column.name) + "`") != std::string::npos);
  }
}
