#pragma once
// The shipped GPU profiles and recordings, as `trainyard calibrate gpu` reads them.

#include "compute/gpu_profile.hpp"
#include "compute/recording.hpp"
#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/read_file.hpp"
#include "workload/csv.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard {

inline const config::Catalogue& shipped_catalogue() {
  static const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  return catalogue;
}

inline std::filesystem::path shipped_gpu_file(const std::string& name) {
  return std::filesystem::path(TRAINYARD_SOURCE_DIR) / "platforms/gpus" / name;
}

inline Recording shipped_recording(const std::string& name) {
  const auto file = shipped_gpu_file(name);
  return read_recording(file.string(), config::read_file(file, largest_csv));
}

inline GpuProfile shipped_gpu(const std::string& name) {
  return load_gpu_profile(config::load(shipped_gpu_file(name + ".yaml")));
}

inline std::vector<GpuProfile> shipped_gpus() {
  std::vector<GpuProfile> all;
  for (const std::string& name : config::names(shipped_catalogue(), config::Kind::gpu)) {
    all.push_back(shipped_gpu(name));
  }
  return all;
}

}  // namespace trainyard
