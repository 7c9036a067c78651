#pragma once
// Facts about a GPU from NVIDIA's management library: power, clocks, the driver. The library comes with the
// driver, not with the toolkit, so it is loaded at run time, and every fact is optional: it may be missing in
// a container, and some GPUs do not measure their power.

#include <memory>
#include <optional>
#include <string>

namespace trainyard::cuda {

class Nvml {
public:
  /// The GPU at this PCI address, in the format of cudaDeviceGetPCIBusId. Without the library, or if it does
  /// not know the GPU, all facts are missing.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Power of the board in watts; from Ampere on the mean over the last second (except for the A100, where it
  /// is the present value), before that the present value. Source: NVML API reference,
  /// nvmlDeviceGetPowerUsage.
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::optional<double> power_limit_w() const;  ///< the currently enforced limit
  [[nodiscard]] std::optional<double> sm_clock_mhz() const;   ///< current clock
  [[nodiscard]] std::optional<double> memory_bytes() const;   ///< total, including the driver's share
  [[nodiscard]] std::optional<std::string> driver_version() const;

private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// The PCI address of the current GPU.
std::string current_pci_bus_id();

}  // namespace trainyard::cuda
