// What users write in place of a shipped file's name.

#include "config/other_names.hpp"

#include "config/document.hpp"
#include "config/same_gpu.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard::config;

namespace {

const Catalogue& shipped() {
  static const Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

Document profile_of(const std::string& name) { return load(find(shipped(), Kind::gpu, name)); }

}  // namespace

TEST_CASE("every other name is that of a shipped file, and finds it") {
  for (const OtherName& other : other_names()) {
    const std::string word(other.word), name(other.name);
    CAPTURE(word);
    CHECK(std::ranges::binary_search(names(shipped(), other.kind), name));
    const std::string meant = name_meant(shipped(), other.kind, word);
    CHECK((other.kind == Kind::gpu ? is_same_gpu(meant, name) : meant == name));
  }
  CHECK(other_names().size() > 40);
}

TEST_CASE("profiles are of one GPU where the recorded one names the other for other frameworks") {
  int twins = 0;
  for (const std::string& name : names(shipped(), Kind::gpu)) {
    CAPTURE(name);
    const Document profile = profile_of(name);
    const Node* const outside = profile.root.find("outside_pytorch");
    if (outside == nullptr) {
      CHECK(data_sheet_profile(name) == name);
      continue;
    }
    ++twins;
    CHECK(data_sheet_profile(name) == outside->scalar);
    CHECK(recorded_profile(outside->scalar) == name);
    CHECK(is_same_gpu(name, outside->scalar));
  }
  CHECK(twins > 1);
  CHECK(!is_same_gpu("h100_pcie_80gb", "h100_measured"));
}

TEST_CASE("a product is the profile that platforms have, and a profile's own name stays that profile") {
  for (const char* const name :
       {"NVIDIA H100 80GB HBM3", "H100 SXM", "H100 SXM5", "H100-SXM5-80GB", "h100 sxm 80gb"})
    CHECK(name_meant(shipped(), Kind::gpu, name) == "h100_measured");
  for (const char* const name : {"NVIDIA H200", "h200", "H200 SXM"})
    CHECK(name_meant(shipped(), Kind::gpu, name) == "h200_measured");
  CHECK(find(shipped(), Kind::gpu, "h100_sxm_80gb").stem() == "h100_sxm_80gb");
  CHECK(data_sheet_named(shipped(), "NVIDIA H100 80GB HBM3") == "h100_sxm_80gb");
  CHECK(data_sheet_named(shipped(), "h100_measured") == "h100_measured");
  CHECK(data_sheet_named(shipped(), "./mine.yaml") == "./mine.yaml");
  CHECK(names_possible(shipped(), Kind::gpu, "h100") ==
        std::vector<std::string>{"h100_96gb_500w", "h100_measured", "h100_nvl_94gb", "h100_pcie_80gb"});
}

TEST_CASE("GPUs are found by the names that drivers print and people write") {
  const std::vector<std::pair<std::string, std::string>> spoken{
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"RTX 4090", "rtx4090"},
      {"4090", "rtx4090"},
      {"rtx-4090", "rtx4090"},
      {"NVIDIA GeForce RTX 5090", "rtx5090"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000_ada_48gb"},
      {"RTX 6000 Ada", "rtx6000_ada_48gb"},
      {"NVIDIA RTX A6000", "a6000"},
      {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_workstation_96gb"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_server_96gb"},
      {"NVIDIA A10G", "a10g_24gb"},
      {"NVIDIA A10", "a10_24gb"},
      {"NVIDIA L40S", "l40s_48gb"},
      {"NVIDIA A100-SXM4-80GB", "a100_sxm4_80gb"},
      {"A100 80GB PCIe", "a100_pcie_80gb"},
      {"NVIDIA H100 NVL", "h100_nvl_94gb"},
      {"H100 PCIe", "h100_pcie_80gb"},
      {"NVIDIA GH200 480GB", "gh200_96gb"},
      {"AMD Instinct MI300X", "mi300x_192gb"},
      {"AMD Instinct MI300X OAM", "mi300x_192gb"},
      {"mi300x", "mi300x_192gb"},
      {"AMD Instinct MI325X", "mi325x_256gb"},
      {"AMD Instinct MI355X", "mi355x_288gb"},
      {"AMD Instinct MI355X OAM", "mi355x_288gb"},
      {"MI300X 192GB", "mi300x_192gb"},
      {"A100-SXM4-80GB", "a100_sxm4_80gb"},
      {"H100-80GB-HBM3", "h100_measured"},
      {"H100-SXM5-80GB", "h100_measured"},
      {"H100-80GB-PCIe", "h100_pcie_80gb"},
      {"H200-141GB", "h200_measured"},
      {"NVIDIA B200", "b200_sxm_180gb"},
      {"B300", "b300_sxm_270gb"},
      {"NVIDIA GB200", "gb200_186gb"},
      {"GB300", "gb300_279gb"},
      {"GH200 96GB", "gh200_96gb"},
      {"L40S 48GB", "l40s_48gb"},
      {"RTX PRO 6000 Server", "rtx_pro_6000_server_96gb"},
      {"5090", "rtx5090"}};
  for (const auto& [name, profile] : spoken) {
    CAPTURE(name);
    CHECK(name_meant(shipped(), Kind::gpu, name) == profile);
  }
  for (const char* const name : {"A100", "RTX PRO 6000", "GH200"}) {
    CAPTURE(name);
    CHECK(name_meant(shipped(), Kind::gpu, name).empty());
    CHECK(names_possible(shipped(), Kind::gpu, name).size() > 1);
  }
  CHECK(advice_on(Kind::gpu, "gfx942").find("mi300x_192gb") != std::string_view::npos);
  CHECK(advice_on(Kind::platform, "DGX A100 640GB").find("--gpu a100_sxm4_80gb") != std::string_view::npos);
}

TEST_CASE("machines are found by the names of clouds and of boxes, whatever their punctuation") {
  const std::vector<std::pair<std::string, std::string>> spoken{
      {"p4de", "p4de_24xlarge"},
      {"p5en.48xlarge", "p5en_48xlarge"},
      {"p6-b200.48xlarge", "p6_b200_48xlarge"},
      {"g5.48xlarge", "g5_48xlarge"},
      {"A3 Ultra", "gcp_a3_ultragpu"},
      {"a3-ultragpu-8g", "gcp_a3_ultragpu"},
      {"a3-megagpu-8g", "gcp_a3_megagpu"},
      {"A4", "gcp_a4_highgpu"},
      {"a4-highgpu-8g", "gcp_a4_highgpu"},
      {"ND H200", "azure_nd_h200_v5"},
      {"Standard_ND96isr_H200_v5", "azure_nd_h200_v5"},
      {"ND GB200 v6", "azure_nd_gb200_v6"},
      {"ND96isr_MI300X_v5", "azure_nd_mi300x_v5"},
      {"GH200", "gh200"},
      {"DGX H200", "dgx_h200"},
      {"HGX B300", "dgx_b300"},
      {"8 x H200", "dgx_h200"},
      {"8xH100", "dgx_h100"},
      {"8 x H100 PCIe", "server_h100_pcie"},
      {"8x H100 NVL", "server_h100_nvl"},
      {"8 x L40S", "server_l40s"},
      {"8 x A10G", "g5_48xlarge"},
      {"4 x RTX 4090", "workstation_4090"},
      {"8xRTX4090", "server_4090"},
      {"4x 5090", "workstation_5090"},
      {"8 x RTX 5090", "server_5090"},
      {"8 x RTX 6000 Ada", "server_rtx6000_ada"},
      {"8x RTX PRO 6000", "server_rtx_pro_6000"},
      {"8 x MI300X", "server_mi300x"},
      {"8xMI325X", "server_mi325x"},
      {"8x MI355X", "server_mi355x"}};
  for (const auto& [name, platform] : spoken) {
    CAPTURE(name);
    CHECK(name_meant(shipped(), Kind::platform, name) == platform);
  }
}

TEST_CASE("platforms with a GPU are found by either of its profiles, those of its maker first") {
  const auto found = platforms_with_gpu(shipped(), "h100_sxm_80gb");
  REQUIRE(found.size() > 3);
  CHECK(found.front() == "dgx_h100");
  CHECK(found == platforms_with_gpu(shipped(), "h100_measured"));
  CHECK(platforms_with_gpu(shipped(), "no_such_gpu").empty());
}
