#include "compute/gpu_profile.hpp"

#include "config/read.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace trainyard {
namespace {

void validate(const GpuProfile& gpu, config::Problems& problems) {
  if (gpu.kernels && gpu.kernels->find('/') != std::string::npos) {
    problems.error("kernels", "'" + *gpu.kernels + "' is not in the profile's folder",
                   "copy the table beside the profile and give its name alone");
  }
  const MatrixUnits& units = gpu.matrix;
  if (units.fp16 && problems.readable("matrix") && units.fp16->peak.value < units.fp32.peak.value) {
    problems.warning("matrix.fp16.peak", "the fp16 peak is below the fp32 peak");
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, error)) {
    throw FileError("cannot read " + path.string() + ": " +
                    (file ? "it is a directory" : std::strerror(errno)));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

GpuProfile load_gpu_profile(const config::Document& document, std::vector<Diagnostic>* warnings) {
  auto gpu = config::read<GpuProfile>(document, validate, warnings);
  if (gpu.kernels) {
    const std::filesystem::path path = std::filesystem::path(document.name).parent_path() / *gpu.kernels;
    gpu.kernel_table = read_kernel_table(path.string(), read_file(path));
  }
  return gpu;
}

}  // namespace trainyard
