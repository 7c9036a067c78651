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

}  // namespace

TEST_CASE("every product that nvidia-smi or rocm-smi names is its profile, whatever its case") {
  int products = 0;
  for (const KnownGpu& gpu : known_gpus()) {
    if (gpu.profile.empty() || !gpu.remark.empty()) continue;
    for (const std::string_view product : gpu.products) {
      for (const std::string maker :
           {"", "NVIDIA ", "Tesla ", "NVIDIA GeForce ", "Quadro ", "AMD Instinct "}) {
        const std::string name = maker + std::string(product);
        CAPTURE(name);
        const std::string_view profile = config::recorded_profile(gpu.profile);
        CHECK(name_meant(shipped(), Kind::gpu, name) == profile);
        CHECK(name_meant(shipped(), Kind::gpu, in_other_case(name)) == profile);
      }
      ++products;
    }
  }
  CHECK(products > 35);
}

TEST_CASE("every product is the profile that the DGX with this GPU has") {
  int with_dgx = 0;
  for (const KnownGpu& gpu : known_gpus()) {
    if (gpu.profile.empty() || !gpu.remark.empty()) continue;
    const auto platforms = config::platforms_with_gpu(shipped(), gpu.profile);
    if (platforms.empty() || !platforms.front().starts_with("dgx")) continue;
    const config::Document dgx = config::load(config::find(shipped(), Kind::platform, platforms.front()));
    for (const std::string_view product : gpu.products) {
      const std::string name(product);
      CAPTURE(name);
      CHECK(name_meant(shipped(), Kind::gpu, name) == dgx.nearest("node.gpus.profile").scalar);
    }
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
       {"NVIDIA GeForce RTX 4090", "NVIDIA A10G", "NVIDIA H100 NVL", "NVIDIA H200 NVL",
        "NVIDIA GeForce GTX TITAN X", "Quadro RTX 6000", "NVIDIA GeForce RTX 3080 Ti", "NVIDIA A100-SXM-64GB",
        "NVIDIA GH200 480GB", "NVIDIA A40", "NVIDIA A800-SXM4-80GB", "NVIDIA H800", ""}) {
    CAPTURE(std::string(name));
    CHECK(name_meant(shipped(), Kind::gpu, name).empty());
  }
}
