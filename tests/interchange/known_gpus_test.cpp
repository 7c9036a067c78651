// GPUs by the names that drivers print, for every shipped profile that has one.

#include "interchange/known_gpus.hpp"

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "config/other_names.hpp"
#include "config/same_gpu.hpp"

#include <algorithm>
#include <cctype>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using config::Kind;
using config::name_meant;

namespace {

const config::Catalogue& shipped() {
  static const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

std::string in_other_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::islower(c) != 0 ? std::toupper(c) : std::tolower(c));
  return text;
}

/// GPUs as nvidia-smi and rocm-smi name them, without their makers.
const std::vector<std::pair<std::string, std::string>>& products() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"P100-SXM2-16GB", "p100_sxm2_16gb"},
      {"P100-PCIE-16GB", "p100_pcie_16gb"},
      {"V100-SXM2-16GB", "v100_sxm2_16gb"},
      {"V100-SXM2-32GB", "v100_sxm2_32gb"},
      {"V100-SXM3-32GB", "v100_sxm3_32gb"},
      {"V100-SXM3-32GB-H", "v100_sxm3_32gb_450w"},
      {"V100-PCIE-32GB", "v100_pcie_32gb"},
      {"V100S-PCIE-32GB", "v100s_pcie_32gb"},
      {"A100-SXM4-40GB", "a100_sxm4_40gb"},
      {"A100-PG509", "a100_sxm4_40gb"},
      {"A100-SXM4-80GB", "a100_sxm4_80gb"},
      {"A100-PCIE-40GB", "a100_pcie_40gb"},
      {"A100 80GB PCIe", "a100_pcie_80gb"},
      {"H100 80GB HBM3", "h100_sxm_80gb"},
      {"H100 PCIe", "h100_pcie_80gb"},
      {"H100 NVL", "h100_nvl_94gb"},
      {"H200", "h200_sxm_141gb"},
      {"GH200 480GB", "gh200_96gb"},
      {"GH200 144G HBM3e", "gh200_144gb"},
      {"B200", "b200_sxm_180gb"},
      {"B300 SXM6 AC", "b300_sxm_270gb"},
      {"GB200", "gb200_186gb"},
      {"GB300", "gb300_279gb"},
      {"L4", "l4_24gb"},
      {"L40S", "l40s_48gb"},
      {"A10", "a10_24gb"},
      {"A10G", "a10g_24gb"},
      {"RTX A6000", "a6000"},
      {"RTX 6000 Ada Generation", "rtx6000_ada_48gb"},
      {"T4", "t4"},
      {"K40m", "k40"},
      {"K40c", "k40"},
      {"K80", "k80"},
      {"M60", "m60"},
      {"RTX 8000", "rtx8000"},
      {"RTX 2080 Ti", "rtx2080ti"},
      {"RTX 3080", "rtx3080"},
      {"RTX 3090", "rtx3090"},
      {"RTX 4090", "rtx4090"},
      {"RTX 5090", "rtx5090"},
      {"GTX 1080 Ti", "gtx1080ti"},
      {"TITAN X (Pascal)", "titan_x_pascal"},
      {"TITAN Xp", "titan_xp"},
      {"RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_server_96gb"},
      {"RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_workstation_96gb"},
      {"MI250X", "mi250x_gcd_64gb"},
      {"MI300X", "mi300x_192gb"},
      {"MI325X", "mi325x_256gb"},
      {"MI350X", "mi350x_288gb"},
      {"MI355X", "mi355x_288gb"}};
  return all;
}

}  // namespace

TEST_CASE("every product that nvidia-smi or rocm-smi names is its profile, whatever its case") {
  for (const auto& [product, profile] : products()) {
    for (const std::string maker : {"", "NVIDIA ", "Tesla ", "NVIDIA GeForce ", "Quadro ", "AMD Instinct "}) {
      const std::string name = maker + product;
      CAPTURE(name);
      const std::string_view recorded = config::recorded_profile(profile);
      CHECK(name_meant(shipped(), Kind::gpu, name) == recorded);
      CHECK(name_meant(shipped(), Kind::gpu, in_other_case(name)) == recorded);
      const KnownGpu* const known = known_gpu(name, {});
      REQUIRE(known != nullptr);
      CHECK(known->profile == profile);
      CHECK(known->remark.empty());
    }
  }
  for (const KnownGpu& gpu : known_gpus()) {
    if (gpu.profile.empty()) continue;
    CAPTURE(std::string(gpu.profile));
    CHECK(std::ranges::count(products(), gpu.profile, [](const auto& of) { return of.second; }) > 0);
  }
}

TEST_CASE("every product is the profile that the DGX with this GPU has") {
  int with_dgx = 0;
  for (const auto& [product, profile] : products()) {
    const auto platforms = config::platforms_with_gpu(shipped(), profile);
    if (platforms.empty() || !platforms.front().starts_with("dgx")) continue;
    const config::Document dgx = config::load(config::find(shipped(), Kind::platform, platforms.front()));
    CAPTURE(product);
    CHECK(name_meant(shipped(), Kind::gpu, product) == dgx.nearest("node.gpus.profile").scalar);
    ++with_dgx;
  }
  CHECK(with_dgx > 5);
}

TEST_CASE("a name that several profiles may have, or a GPU without one, is none of them") {
  for (const char* const name : {"H100", "V100", "A100", "A100-SXM4", "V100 32GB"}) {
    CAPTURE(std::string(name));
    CHECK(name_meant(shipped(), Kind::gpu, name).empty());
    CHECK(config::names_possible(shipped(), Kind::gpu, name).size() > 1);
  }
  for (const char* const name :
       {"NVIDIA GeForce RTX 4080", "NVIDIA GeForce RTX 4090 D", "NVIDIA H200 NVL",
        "NVIDIA GeForce GTX TITAN X", "Quadro RTX 6000", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA A100-SXM-64GB",
        "NVIDIA A40", "NVIDIA A800-SXM4-80GB", "NVIDIA H800", ""}) {
    CAPTURE(std::string(name));
    CHECK(name_meant(shipped(), Kind::gpu, name).empty());
  }
}
