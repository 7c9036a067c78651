#include "device_facts.hpp"

#include "check_cuda.cuh"
#include "csv_line.hpp"
#include "library_versions.hpp"
#include "nvml.hpp"

#include <cmath>
#include <ctime>
#include <optional>
#include <string>

namespace trainyard::cuda {
namespace {

/// Nothing if the driver does not know, which it reports as 0.
std::optional<double> attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  return value > 0 ? std::optional<double>(value) : std::nullopt;
}

class Facts {
public:
  void add(const char* key, const std::optional<std::string>& value) {
    if (value && !value->empty()) facts_.push_back({key, *value});
  }
  void add(const char* key, const std::optional<double>& value, const std::string& unit) {
    if (value) add(key, exact_text(std::round(*value)) + (unit.empty() ? "" : " " + unit));
  }
  std::vector<Fact> all() && { return std::move(facts_); }

private:
  std::vector<Fact> facts_;
};

/// Two transfers per clock on every wire: HBM and GDDR are double data rate, and the runtime reports GDDR6's
/// clock accordingly. An H100's 2619 MHz and 5120 bits yield the 3352 GB/s of its data sheet.
std::optional<double> memory_bandwidth_gbs(int device) {
  const auto clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  const auto bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  if (!clock_khz || !bus_bits) return std::nullopt;
  return *clock_khz * 1e3 * 2 * *bus_bits / 8 / 1e9;
}

std::optional<double> divided(const std::optional<double>& value, double by) {
  return value ? std::optional(*value / by) : std::nullopt;
}

std::string cuda_version() {
  int version = 0;
  CHECK_CUDA(cudaRuntimeGetVersion(&version));
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[16] = {};
  (void)std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

}  // namespace

std::vector<Fact> device_facts() {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  cudaDeviceProp properties{};
  CHECK_CUDA(cudaGetDeviceProperties(&properties, device));
  const Nvml nvml(current_pci_bus_id());
  constexpr double mib = 1 << 20;

  Facts facts;
  facts.add("gpu", properties.name);
  facts.add("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor));
  facts.add("sm_count", properties.multiProcessorCount, "");
  facts.add("sm_clock", divided(attribute(cudaDevAttrClockRate, device), 1e3), "MHz");
  const auto memory = nvml.memory_bytes().value_or(static_cast<double>(properties.totalGlobalMem));
  facts.add("memory_capacity", memory / mib, "MiB");
  facts.add("memory_bandwidth", memory_bandwidth_gbs(device), "GB/s");
  facts.add("l2_cache", divided(attribute(cudaDevAttrL2CacheSize, device), 1024), "KiB");
  facts.add("power_limit", nvml.power_limit_w(), "W");
  facts.add("driver", nvml.driver_version());
  facts.add("cuda", cuda_version());
  facts.add("cublaslt", cublaslt_version());
  facts.add("cudnn", cudnn_version());
  facts.add("nccl", nccl_version());
  facts.add("date", today());
  return std::move(facts).all();
}

}  // namespace trainyard::cuda
