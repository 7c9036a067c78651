// This program's own kernels, which memory bandwidth limits: selects the kernel of a plan's row, runs it
// once, checks its output, then times it.

#include "measure.hpp"
#include "missing_dtype.cuh"
#include "prepared_kernel.cuh"
#include "shapes.hpp"
#include "stream.cuh"

namespace trainyard::cuda {
namespace {

PreparedKernel prepare(const Request& request, Dtype dtype) {
  const auto elements = parse_elements(request.shape);
  if (!elements) throw MeasurementFailed(request.op + " has no shape '" + request.shape + "'");
  if (request.op == "elementwise" && request.variant == "add") return prepare_add(dtype, *elements);
  if (request.op == "reduction" && request.variant == "sum") return prepare_sum(dtype, *elements);
  if (const auto row = parse_word_and_size(request.variant, 'w');
      row && request.op == "embedding" && row->word == "forward" && *elements % row->size == 0) {
    return prepare_gather(dtype, *elements, row->size);
  }
  throw MeasurementFailed("there is no kernel of " + request.op + " '" + request.variant + "'");
}

}  // namespace

Outcome measure_vector(const Request& request) {
  const auto dtype = parse_dtype(request.dtype);
  if (!dtype) throw MeasurementFailed("there is no dtype '" + request.dtype + "'");
  if (const auto reason = missing_dtype(*dtype)) return Skipped{*reason};
  const PreparedKernel kernel = prepare(request, *dtype);
  const Stream stream;
  kernel.launch(0, stream.get());
  stream.synchronize();
  const double error = kernel.check();
  Measurement measured = to_measurement(time_on_gpu(kernel.launch, stream.get()));
  measured.error = error;
  return measured;
}

}  // namespace trainyard::cuda
