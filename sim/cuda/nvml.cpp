#include "nvml.hpp"

#include "check_cuda.cuh"

#include <dlfcn.h>

namespace trainyard::cuda {
namespace {

// The part of NVML's interface used here, unchanged since CUDA 7; declared here because no other package that
// this program needs contains its header.
using Status = int;  // 0 is success
using Device = struct nvmlDevice_st*;
struct Memory {
  unsigned long long total, free, used;
};
constexpr int clock_sm = 1;

using Init = Status (*)();
using DeviceByPciBusId = Status (*)(const char*, Device*);
using DeviceUint = Status (*)(Device, unsigned*);
using DeviceClock = Status (*)(Device, int, unsigned*);
using DeviceMemory = Status (*)(Device, Memory*);
using SystemText = Status (*)(char*, unsigned);

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  Device device = nullptr;  ///< null: not found

  template <typename Function>
  [[nodiscard]] Function find(const char* name) const {
    return handle == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(handle, name));
  }

  [[nodiscard]] std::optional<double> ask(const char* name) const {
    const auto function = find<DeviceUint>(name);
    unsigned value = 0;
    if (function == nullptr || device == nullptr || function(device, &value) != 0) return std::nullopt;
    return value;
  }
};

Nvml::Nvml(const std::string& pci_bus_id) : library_(std::make_unique<Library>()) {
  library_->handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto init = library_->find<Init>("nvmlInit_v2");
  const auto by_bus_id = library_->find<DeviceByPciBusId>("nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || by_bus_id == nullptr || init() != 0) return;
  if (by_bus_id(pci_bus_id.c_str(), &library_->device) != 0) library_->device = nullptr;
}

/// The library remains loaded: others in this process may rely on it.
Nvml::~Nvml() {
  if (const auto shutdown = library_->find<Init>("nvmlShutdown")) (void)shutdown();
}

std::optional<double> Nvml::power_w() const {
  const auto milliwatts = library_->ask("nvmlDeviceGetPowerUsage");
  return milliwatts ? std::optional(*milliwatts / 1e3) : std::nullopt;
}

std::optional<double> Nvml::power_limit_w() const {
  const auto milliwatts = library_->ask("nvmlDeviceGetEnforcedPowerLimit");
  return milliwatts ? std::optional(*milliwatts / 1e3) : std::nullopt;
}

std::optional<double> Nvml::sm_clock_mhz() const {
  const auto function = library_->find<DeviceClock>("nvmlDeviceGetClockInfo");
  unsigned value = 0;
  if (function == nullptr || library_->device == nullptr) return std::nullopt;
  if (function(library_->device, clock_sm, &value) != 0) return std::nullopt;
  return value;
}

std::optional<double> Nvml::memory_bytes() const {
  const auto function = library_->find<DeviceMemory>("nvmlDeviceGetMemoryInfo");
  Memory memory{};
  if (function == nullptr || library_->device == nullptr) return std::nullopt;
  if (function(library_->device, &memory) != 0) return std::nullopt;
  return static_cast<double>(memory.total);
}

std::optional<std::string> Nvml::driver_version() const {
  const auto function = library_->find<SystemText>("nvmlSystemGetDriverVersion");
  char text[96] = {};
  if (function == nullptr || library_->device == nullptr || function(text, sizeof text) != 0)
    return std::nullopt;
  return text;
}

std::string current_pci_bus_id() {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  char text[32] = {};
  CHECK_CUDA(cudaDeviceGetPCIBusId(text, sizeof text, device));
  return text;
}

}  // namespace trainyard::cuda
