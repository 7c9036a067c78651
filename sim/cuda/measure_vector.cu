// The ops that memory bandwidth limits: picks our own kernel for a row of the plan, runs it once, checks what
// it wrote, then times it.

#include "measure.hpp"
#include "missing_dtype.cuh"
#include "prepared_kernel.cuh"
#include "shapes.hpp"
#include "stream.cuh"

#include <array>
#include <string_view>

namespace trainyard::cuda {
namespace {

struct VectorOp {
  std::string_view op;
  char size_letter;  ///< of the number in the variant, 0 where there is none
  PreparedKernel (*prepare)(const VectorWork&);
};

PreparedKernel prepare_any_elementwise(const VectorWork& work) {
  return work.variant == "dropout" ? prepare_dropout(work) : prepare_elementwise(work);
}

constexpr std::array vector_ops{
    VectorOp{"elementwise", 0, prepare_any_elementwise},
    VectorOp{"reduction", 0, prepare_reduction},
    VectorOp{"batch_norm_forward", 'c', prepare_batch_norm_forward},
    VectorOp{"batch_norm_backward", 'c', prepare_batch_norm_backward},
    VectorOp{"layer_norm", 'w', prepare_layer_norm},
    VectorOp{"softmax", 'w', prepare_softmax},
    VectorOp{"embedding", 'w', prepare_embedding},
    VectorOp{"optimizer", 0, prepare_optimizer},
};

const VectorOp& find_op(const Request& request) {
  for (const VectorOp& each : vector_ops) {
    if (each.op == request.op) return each;
  }
  throw MeasurementFailed("'" + request.op + "' is none of our own kernels");
}

VectorWork work_of(const Request& request, Dtype dtype, char size_letter) {
  const auto elements = parse_elements(request.shape);
  if (!elements) throw MeasurementFailed(request.op + " has no shape '" + request.shape + "'");
  if (size_letter == 0) return {request.variant, dtype, *elements, 0};
  const auto variant = parse_word_and_size(request.variant, size_letter);
  if (!variant) throw MeasurementFailed(request.op + " has no variant '" + request.variant + "'");
  return {variant->word, dtype, *elements, variant->size};
}

}  // namespace

Outcome measure_vector(const Request& request) {
  const VectorOp& op = find_op(request);
  const auto dtype = parse_dtype(request.dtype);
  if (!dtype) throw MeasurementFailed("there is no dtype '" + request.dtype + "'");
  if (const auto reason = missing_dtype(*dtype)) return Skipped{*reason};
  const PreparedKernel kernel = op.prepare(work_of(request, *dtype, op.size_letter));
  const Stream stream;
  kernel.launch(0, stream.get());
  stream.synchronize();
  const double error = kernel.check();
  Measurement measured = to_measurement(time_on_gpu(kernel.launch, stream.get()));
  measured.error = error;
  return measured;
}

}  // namespace trainyard::cuda
