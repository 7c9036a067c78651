#include "measure.hpp"

#include "check_cuda.cuh"

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <utility>

namespace trainyard::cuda {
namespace {

using Function = Outcome (*)(const Request&);

constexpr std::array<std::pair<std::string_view, Function>, 12> functions{{
    {"gemm", measure_gemm},
    {"conv_forward", measure_conv},
    {"conv_dgrad", measure_conv},
    {"conv_wgrad", measure_conv},
    {"elementwise", measure_vector},
    {"reduction", measure_vector},
    {"embedding", measure_vector},
    {"launch", measure_launch},
    {"copy", measure_copy},
    {"all_reduce", measure_all_reduce},
    {"overlap", measure_overlap},
    {"power", measure_power},
}};

/// Throws GpuLost if the GPU no longer answers: after an invalid address every later call fails too.
void require_gpu(const char* error) {
  if (cudaDeviceSynchronize() != cudaSuccess) throw GpuLost(error);
  (void)cudaGetLastError();  // clears the reported error, so that it does not affect the next row
}

}  // namespace

Outcome measure(const Request& request) {
  const auto* const found = std::find_if(functions.begin(), functions.end(),
                                         [&](const auto& each) { return each.first == request.op; });
  if (found == functions.end()) throw MeasurementFailed("unknown op '" + request.op + "'");
  try {
    return found->second(request);
  } catch (const OutOfMemory& error) {
    return Skipped{std::string("not enough memory: ") + error.what()};
  } catch (const CudaError& error) {
    require_gpu(error.what());
    throw MeasurementFailed(error.what());
  } catch (const MeasurementFailed& error) {
    require_gpu(error.what());
    throw;
  } catch (const std::bad_alloc&) {
    return Skipped{"not enough memory on the host"};
  }
}

}  // namespace trainyard::cuda
