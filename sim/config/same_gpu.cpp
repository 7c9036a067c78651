#include "config/same_gpu.hpp"

#include "config/diagnostic.hpp"
#include "config/document.hpp"

#include <algorithm>
#include <array>

namespace trainyard::config {
namespace {

struct Twins {
  std::string_view data_sheet;
  std::string_view recorded;
};

// Listed here, since names are looked up too often to read all profiles. A test compares the list with them.
constexpr std::array twins{Twins{"h100_sxm_80gb", "h100_measured"}, Twins{"h200_sxm_141gb", "h200_measured"}};

bool is_of_maker(const std::string& platform) { return platform.starts_with("dgx"); }

}  // namespace

std::string_view recorded_profile(std::string_view profile) {
  const auto* const found = std::ranges::find(twins, profile, &Twins::data_sheet);
  return found == twins.end() ? profile : found->recorded;
}

std::string_view data_sheet_profile(std::string_view profile) {
  const auto* const found = std::ranges::find(twins, profile, &Twins::recorded);
  return found == twins.end() ? profile : found->data_sheet;
}

std::string data_sheet_named(const Catalogue& catalogue, const std::string& text) {
  if (is_path(text)) return text;
  const std::string name = find(catalogue, Kind::gpu, text).stem().string();
  return name == text ? name : std::string(data_sheet_profile(name));
}

bool is_same_gpu(std::string_view a, std::string_view b) {
  return data_sheet_profile(a) == data_sheet_profile(b);
}

std::vector<std::string> platforms_with_gpu(const Catalogue& catalogue, std::string_view profile) {
  std::vector<std::string> found;
  for (const std::string& name : names(catalogue, Kind::platform)) {
    try {
      const Document document = load(find(catalogue, Kind::platform, name));
      if (is_same_gpu(document.nearest("node.gpus.profile").scalar, profile)) found.push_back(name);
    } catch (const InputError&) {
      continue;
    } catch (const FileError&) {
      continue;
    }
  }
  std::ranges::stable_partition(found, is_of_maker);
  return found;
}

}  // namespace trainyard::config
