#include "interchange/known_gpus.hpp"

#include "config/other_names.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace trainyard {
namespace {

std::string plain_product(std::string_view product) {
  for (bool is_shorter = true; is_shorter;) {
    is_shorter = false;
    for (const std::string_view maker : {"NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "AMD ", "Instinct "}) {
      if (!product.starts_with(maker)) continue;
      product.remove_prefix(maker.size());
      is_shorter = true;
    }
  }
  std::string plain(product);
  std::ranges::transform(plain, plain.begin(), [](unsigned char c) { return std::tolower(c); });
  return plain;
}

}  // namespace

std::span<const KnownGpu> known_gpus() {
  using enum LinkKind;
  static const std::vector<KnownGpu> all{
      {"p100_sxm2_16gb", {}, {"10de:15f9"}, nvlink1, 4, 3},
      {"p100_pcie_16gb", {}, {"10de:15f8"}, {}, 0, 3},
      {"v100_sxm2_16gb", {}, {"10de:1db1"}, nvlink2, 6, 3},
      {"v100_sxm2_32gb", {}, {"10de:1db5"}, nvlink2, 6, 3},
      {"v100_sxm3_32gb", {}, {"10de:1db8"}, nvlink2, 6, 3},
      {"v100_sxm3_32gb_450w", {}, {}, nvlink2, 6, 3},
      {"v100_pcie_32gb", {}, {"10de:1db6"}, {}, 0, 3},
      {"v100s_pcie_32gb", {}, {"10de:1df6"}, {}, 0, 3},
      {"a100_sxm4_40gb", {}, {"10de:20b0"}, nvlink3, 12, 4},
      {"a100_sxm4_80gb", {}, {"10de:20b2"}, nvlink3, 12, 4},
      {"a100_pcie_40gb", {}, {"10de:20f1"}, nvlink3, 12, 4},
      {"a100_pcie_80gb", {}, {"10de:20b5"}, nvlink3, 12, 4},
      {"a100_sxm4_80gb",
       {"A800-SXM4-80GB"},
       {"10de:20f3"},
       nvlink3,
       8,
       4,
       true,
       0,
       "an A800: an A100 with fewer NVLinks"},
      {"a100_pcie_80gb",
       {"A800 80GB PCIe"},
       {"10de:20f5"},
       nvlink3,
       8,
       4,
       true,
       0,
       "an A800: an A100 with fewer NVLinks"},
      {"h100_sxm_80gb", {}, {"10de:2330"}, nvlink4, 18, 5},
      {"h100_pcie_80gb", {}, {"10de:2331"}, nvlink4, 12, 5},
      {"h100_sxm_80gb",
       {"H800"},
       {"10de:2324"},
       nvlink4,
       8,
       5,
       true,
       0,
       "an H800: an H100 with fewer NVLinks"},
      {"h200_sxm_141gb", {}, {"10de:2335"}, nvlink4, 18, 5},
      {"b200_sxm_180gb", {}, {"10de:2901"}, nvlink5, 18, 5},
      {"b300_sxm_270gb", {}, {}, nvlink5, 18, 5},
      {"gb200_186gb", {}, {"10de:2941"}, nvlink5, 18, 5},
      {"gb300_279gb", {}, {}, nvlink5, 18, 5},
      {"l4_24gb", {}, {"10de:27b8"}, {}, 0, 4},
      {"l40s_48gb", {}, {"10de:26b9"}, {}, 0, 4},
      {"a10_24gb", {}, {"10de:2236"}, {}, 0, 4},
      {"a6000", {}, {"10de:2230"}, nvlink3, 4, 4, true, 14.0625},
      {"t4", {}, {"10de:1eb8"}, {}, 0, 3},
      {"k40", {}, {"10de:1023", "10de:1024"}, {}, 0, 3},
      {"k80", {}, {"10de:102d"}, {}, 0, 3},
      {"m60", {}, {"10de:13f2"}, {}, 0, 3},
      {"rtx8000", {}, {}, nvlink2, 2, 3},
      {"rtx2080ti", {}, {"10de:1e04", "10de:1e07"}, nvlink2, 2, 3, false},
      {"rtx3080", {}, {"10de:2206"}, {}, 0, 4, false},
      {"rtx3090", {}, {"10de:2204"}, nvlink3, 4, 4, false, 14.0625},
      {"", {"RTX 4080"}, {"10de:2704"}, {}, 0, 4, false},
      {"rtx4090", {}, {"10de:2684"}, {}, 0, 4, false},
      {"rtx5090", {}, {"10de:2b85"}, {}, 0, 5, false},
      {"rtx6000_ada_48gb", {}, {"10de:26b1"}, {}, 0, 4},
      {"rtx_pro_6000_workstation_96gb", {}, {"10de:2bb1"}, {}, 0, 5},
      {"a10g_24gb", {}, {"10de:2237"}, {}, 0, 4, false},
      {"h100_nvl_94gb", {}, {"10de:2321"}, nvlink4, 12, 5},
      {"gh200_96gb", {}, {"10de:2342"}, nvlink4, 18, 5},
      {"gh200_144gb", {}, {"10de:2348"}, nvlink4, 18, 5},
      {"gtx1080ti", {}, {"10de:1b06"}, {}, 0, 3},
      {"titan_x_pascal", {}, {"10de:1b00"}, {}, 0, 3},
      {"titan_xp", {}, {"10de:1b02"}, {}, 0, 3},
      {"rtx_pro_6000_server_96gb", {}, {}, {}, 0, 5},
      {"mi250x_gcd_64gb", {}, {"1002:7408", "1002:740c"}, {}, 0, 4},
      {"mi300x_192gb", {}, {"1002:74a1"}, {}, 0, 5, true, 0, {}, "gfx942"},
      {"mi325x_256gb", {}, {"1002:74a5"}, {}, 0, 5, true, 0, {}, "gfx942"},
      {"mi350x_288gb", {}, {"1002:75a0"}, {}, 0, 5, true, 0, {}, "gfx950"},
      {"mi355x_288gb", {}, {"1002:75a3"}, {}, 0, 5, true, 0, {}, "gfx950"},
  };
  return all;
}

const KnownGpu* known_gpu(std::string_view product, std::string_view pci_device) {
  const std::string plain = plain_product(product);
  for (const KnownGpu& gpu : known_gpus()) {
    const auto is_it = [&](std::string_view name) { return plain_product(name) == plain; };
    if (!plain.empty() && std::ranges::any_of(gpu.products, is_it)) return &gpu;
  }
  static const std::vector<std::string> profiles = [] {
    std::vector<std::string> all;
    for (const KnownGpu& gpu : known_gpus()) {
      if (gpu.products.empty()) all.emplace_back(gpu.profile);
    }
    return all;
  }();
  if (!plain.empty()) return gpu_of_profile(config::gpu_meant(profiles, product));
  if (pci_device.empty()) return nullptr;
  for (const KnownGpu& gpu : known_gpus()) {
    if (std::ranges::find(gpu.pci_devices, pci_device) != gpu.pci_devices.end()) return &gpu;
  }
  return nullptr;
}

bool has_fixed_nvlinks(const KnownGpu& gpu) {
  return gpu.nvlink_lanes > 0 && (gpu.profile.find("_sxm") != std::string_view::npos || is_in_nvl72(gpu));
}

bool is_in_nvl72(const KnownGpu& gpu) {
  return gpu.profile.starts_with("gb200") || gpu.profile.starts_with("gb300");
}

const KnownGpu* gpu_of_profile(std::string_view profile) {
  const std::span<const KnownGpu> all = known_gpus();
  const auto found = std::ranges::find(all, profile, &KnownGpu::profile);
  return profile.empty() || found == all.end() ? nullptr : &*found;
}

}  // namespace trainyard
