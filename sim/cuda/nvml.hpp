#pragma once
// What NVIDIA's management library tells about a GPU: power, clocks, the driver. It comes with the driver,
// not with the toolkit, so it is loaded when the program runs, and everything it tells is optional: in a
// container it may be missing, and some GPUs do not measure their power.

#include <memory>
#include <optional>
#include <string>

namespace trainyard::cuda {

class Nvml {
public:
  /// The GPU at this PCI address, as cudaDeviceGetPCIBusId writes it. Without the library, or if it does not
  /// know the GPU, nothing is told.
  explicit Nvml(const std::string& pci_bus_id);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Watts that the board draws; from Ampere on the mean over the last second (but for the A100, where it is
  /// the present value), before that the present value. Source: NVML API reference, nvmlDeviceGetPowerUsage.
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::optional<double> power_limit_w() const;  ///< the one that is enforced now
  [[nodiscard]] std::optional<double> sm_clock_mhz() const;   ///< now
  [[nodiscard]] std::optional<double> memory_bytes() const;   ///< all of it, with what the driver keeps
  [[nodiscard]] std::optional<std::string> driver_version() const;

private:
  struct Library;
  std::unique_ptr<Library> library_;
};

/// The PCI address of the current GPU.
std::string current_pci_bus_id();

}  // namespace trainyard::cuda
