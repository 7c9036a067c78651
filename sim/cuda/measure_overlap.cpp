// The slowdown of a kernel while copies run continuously on another stream: both share the memory's
// bandwidth, and copies inside the GPU also its multiprocessors.

#include "background.hpp"
#include "host_memory.hpp"
#include "measure.hpp"
#include "prepare_gemm.cuh"
#include "rotation.cuh"
#include "shapes.hpp"
#include "stream.cuh"

#include <optional>

namespace trainyard::cuda {
namespace {

PreparedKernel prepare_kernel(const Request& request) {
  const auto dtype = parse_dtype(request.dtype);
  if (dtype && request.variant.starts_with("gemm ")) {
    if (const auto shape = parse_gemm_shape(request.shape)) return prepare_gemm(*shape, *dtype);
  } else if (dtype && request.variant.starts_with("vector ")) {
    if (const auto elements = parse_elements(request.shape)) return prepare_add(*dtype, *elements);
  }
  throw MeasurementFailed("cannot read '" + request.variant + "', '" + request.shape + "'");
}

/// One direction's copies, larger than any cache.
class Copies {
public:
  explicit Copies(const std::string& direction)
      : direction_(direction),
        device_(bytes),
        other_device_(direction == "d2d" ? bytes : 0),
        host_(direction == "d2d" ? 0 : bytes) {
    fill_random(device_, Dtype::fp32, 0);
    if (host_.bytes() > 0) fill_words(host_.data(), host_.bytes(), 1);
  }

  void launch(cudaStream_t stream) const {
    if (direction_ == "h2d") {
      CHECK_CUDA(cudaMemcpyAsync(device_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream));
    } else if (direction_ == "d2h") {
      CHECK_CUDA(cudaMemcpyAsync(host_.data(), device_.data(), bytes, cudaMemcpyDeviceToHost, stream));
    } else {
      CHECK_CUDA(
          cudaMemcpyAsync(other_device_.data(), device_.data(), bytes, cudaMemcpyDeviceToDevice, stream));
    }
  }

private:
  static constexpr std::size_t bytes = std::size_t{256} << 20U;

  std::string direction_;
  DeviceBuffer device_;
  DeviceBuffer other_device_;
  PinnedBuffer host_;
};

}  // namespace

Outcome measure_overlap(const Request& request) {
  try {
    const Copies copies(request.variant.substr(request.variant.find(' ') + 1));
    const PreparedKernel kernel = prepare_kernel(request);
    const Stream stream;
    kernel.launch(0, stream.get());
    stream.synchronize();
    const double error = kernel.check();

    Background copying([&](int, cudaStream_t on) { copies.launch(on); });
    const long before = copying.ended();
    Measurement result = to_measurement(time_on_gpu(kernel.launch, stream.get()));
    const long after = copying.ended();
    copying.finish();
    if (after <= before) throw MeasurementFailed("no copy ended while the kernel ran: they did not overlap");
    result.error = error;
    return result;
  } catch (const GemmNotPossible& reason) {
    return Skipped{reason.what()};
  }
}

}  // namespace trainyard::cuda
