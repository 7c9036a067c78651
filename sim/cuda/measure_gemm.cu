// Times a matrix product and checks it.

#include "measure.hpp"
#include "prepare_gemm.cuh"
#include "stream.cuh"

#include <optional>

namespace trainyard::cuda {

Outcome measure_gemm(const Request& request) {
  const auto shape = parse_gemm_shape(request.shape);
  const auto dtype = parse_dtype(request.dtype);
  if (!shape || !dtype) {
    throw MeasurementFailed("gemm: cannot read '" + request.dtype + "', '" + request.shape + "'");
  }
  try {
    const PreparedKernel gemm = prepare_gemm(*shape, *dtype);
    const double error = gemm.check();
    const Stream stream;
    Measurement result = to_measurement(time_on_gpu(gemm.launch, stream.get()));
    result.error = error;
    return result;
  } catch (const GemmNotPossible& reason) {
    return Skipped{reason.what()};
  }
}

}  // namespace trainyard::cuda
