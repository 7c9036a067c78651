// Times a convolution and checks it. Measures the fastest of the plans that cuDNN proposes, like a framework
// with cudnn.benchmark = True: PyTorch tries up to 10 plans, each once for warm-up and then three times, and
// chooses the one with the smallest median. Eight are tried here, for at most one second: the heuristic's
// order is good, and later plans are seldom the fastest.

#include "conv_reference.hpp"
#include "cudnn_graph.hpp"
#include "library_versions.hpp"
#include "measure.hpp"
#include "missing_dtype.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "stream.cuh"
#include "timer.cuh"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <limits>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t seed_x = 1;
constexpr std::uint64_t seed_w = 2;
constexpr std::uint64_t seed_y = 3;

/// A parsed row of the plan.
struct Problem {
  ConvPass pass{};
  ConvShape shape;
  Dtype dtype{};
  ConvTensors tensors;

  [[nodiscard]] std::size_t bytes(const ConvTensor& tensor) const {
    return static_cast<std::size_t>(tensor.elements()) * size_of(dtype);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes(tensors.x) + bytes(tensors.w) + bytes(tensors.y); }
};

Problem parse(const Request& request) {
  const auto pass = parse_conv_pass(request.op);
  const auto shape = parse_conv_shape(request.shape);
  const auto dtype = parse_dtype(request.dtype);
  const auto layout = parse_layout(request.variant);
  if (!pass || !shape || !dtype || !layout) {
    throw MeasurementFailed(request.op + ": cannot read '" + request.variant + "', '" + request.dtype +
                            "', '" + request.shape + "'");
  }
  return {*pass, *shape, *dtype, conv_tensors(*shape, *layout)};
}

/// Workspace limit of a plan: half of the memory that the operands leave free, at most 4 GiB, which is
/// TensorFlow's limit (TF_CUDNN_WORKSPACE_LIMIT_IN_MB; PyTorch has none). It must not be small: on nchw data
/// of 16 bits cuDNN's matrix-unit engines keep copies of input and output in nhwc there.
std::size_t workspace_limit(const Problem& problem) {
  constexpr std::size_t most = std::size_t{4} << 30U;
  const std::size_t free = free_bytes();
  if (free <= problem.bytes()) throw OutOfMemory("the operands do not fit in the GPU's memory");
  return std::min(most, (free - problem.bytes()) / 2);
}

/// The operands in several copies, ready for any plan.
class Operands {
public:
  /// Every tensor gets random values, including the result, so that values which a plan does not write are
  /// detected.
  Operands(const Problem& problem, std::size_t workspace_bytes)
      : workspace_(std::max<std::size_t>(workspace_bytes, 256)) {
    const int copies = cold_copies(problem.bytes());
    x_ = ColdBuffers(problem.bytes(problem.tensors.x), copies);
    w_ = ColdBuffers(problem.bytes(problem.tensors.w), copies);
    y_ = ColdBuffers(problem.bytes(problem.tensors.y), copies);
    fill_random(x_, problem.dtype, seed_x);
    fill_random(w_, problem.dtype, seed_w);
    fill_random(y_, problem.dtype, seed_y);
    for (int copy = 0; copy < copies; ++copy) {
      packs_.push_back(variant_pack(x_[copy], w_[copy], y_[copy], workspace_.data()));
    }
  }

  /// Enqueues one execution on copy `repetition % copies`.
  void execute(const ConvPlan& plan, int repetition, cudaStream_t stream) const {
    const Descriptor& pack = packs_.at(static_cast<std::size_t>(repetition) % packs_.size());
    CHECK_CUDNN(cudnnSetStream(cudnn_handle(), stream));
    CHECK_CUDNN(cudnnBackendExecute(cudnn_handle(), plan.plan.get(), pack.get()));
  }

  /// The pass's result in copy 0.
  [[nodiscard]] const void* result(ConvPass pass) const {
    return pass == ConvPass::forward ? y_[0] : pass == ConvPass::dgrad ? x_[0] : w_[0];
  }

private:
  DeviceBuffer workspace_;
  ColdBuffers x_;
  ColdBuffers w_;
  ColdBuffers y_;
  std::vector<Descriptor> packs_;
};

/// Microseconds of one execution: the median of three after one; only the first if it took three times
/// `best`. Throws CudnnError if the plan cannot run.
double trial(const Operands& operands, const ConvPlan& plan, const Stream& stream, double best) {
  const Event start;
  const Event stop;
  const auto once = [&](int repetition) {
    start.record(stream.get());
    operands.execute(plan, repetition, stream.get());
    stop.record(stream.get());
    return microseconds_between(start, stop);
  };
  (void)once(0);  // loads the kernels, or compiles them
  std::array<double, 3> times{once(1)};
  if (times[0] > 3 * best) return times[0];
  times[1] = once(2);
  times[2] = once(3);
  std::sort(times.begin(), times.end());
  return times[1];
}

/// Throws the last plan's error if none of them runs.
const ConvPlan& fastest(const Operands& operands, const std::vector<ConvPlan>& plans, const Stream& stream) {
  const ConvPlan* found = nullptr;
  std::exception_ptr failure;
  double best = std::numeric_limits<double>::infinity();
  const auto start = std::chrono::steady_clock::now();
  for (const ConvPlan& plan : plans) {
    if (found != nullptr && std::chrono::steady_clock::now() - start > std::chrono::seconds(1)) break;
    try {
      const double time = trial(operands, plan, stream, best);
      if (time >= best) continue;
      best = time;
      found = &plan;
    } catch (const CudnnError&) {
      failure = std::current_exception();  // a plan may be built but not run: try the next one
    } catch (const OutOfMemory&) {
      failure = std::current_exception();
    }
  }
  if (found == nullptr) std::rethrow_exception(failure);
  return *found;
}

/// The largest error of sampled values. Throws WrongResult. fp32 may have ten times the error of a plain sum,
/// because Winograd and FFT add and subtract before and after they multiply; no type of the shared check has
/// that tolerance, so it gets tf32's, and the rest is done here.
double check(const Problem& problem, const Operands& operands) {
  constexpr std::int64_t most_terms = 1'000'000;  // for all samples: about 25 ms
  constexpr double most_fp32_error = 1e-4;
  const auto values = [&](std::uint64_t seed) {
    return [&problem, seed](std::uint64_t index) { return stored_value(problem.dtype, seed, index); };
  };
  const ConvOperands random{values(seed_x), values(seed_w), values(seed_y)};
  const std::int64_t samples = most_terms / terms_of(problem.pass, problem.shape);
  const bool is_fp32 = problem.dtype == Dtype::fp32;
  const std::string what = "convolution in " + std::string(name_of(problem.dtype));

  ReferenceCheck compared(what, is_fp32 ? Dtype::tf32 : problem.dtype, problem.dtype);
  const auto elements = static_cast<std::uint64_t>(problem.tensors.result_of(problem.pass).elements());
  for (const std::uint64_t position :
       sample_positions(elements, static_cast<int>(std::clamp<std::int64_t>(samples, 2, 64)))) {
    const ConvSum expected = conv_reference(problem.pass, problem.shape, problem.tensors, random, position);
    compared.compare(position, value_at(operands.result(problem.pass), position, problem.dtype),
                     expected.value, expected.magnitude);
  }
  if (is_fp32 && compared.error() > most_fp32_error) {
    throw WrongResult(what + ": relative error " + std::to_string(compared.error()) + ", 0.0001 allowed");
  }
  return compared.error();
}

Outcome measure_fastest(const Problem& problem) {
  const ConvGraph graph(problem.pass, problem.shape, problem.tensors, problem.dtype);
  const std::vector<ConvPlan> plans =
      find_plans(graph, problem.dtype, {.workspace_bytes = workspace_limit(problem)});
  if (plans.empty()) {
    return Skipped{"cuDNN " + cudnn_version().value_or("") + " has no engine for it on this GPU"};
  }
  std::size_t workspace_bytes = 0;
  for (const ConvPlan& plan : plans) workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);

  const Stream stream;
  const Operands operands(problem, workspace_bytes);
  const ConvPlan& plan = fastest(operands, plans, stream);
  operands.execute(plan, 0, stream.get());  // overwrites the results of other plans
  stream.synchronize();
  const double error = check(problem, operands);
  Measurement result = to_measurement(time_on_gpu(
      [&](int repetition, cudaStream_t on) { operands.execute(plan, repetition, on); }, stream.get()));
  result.error = error;
  return result;
}

}  // namespace

Outcome measure_conv(const Request& request) {
  const Problem problem = parse(request);
  if (const auto reason = missing_dtype(problem.dtype)) return Skipped{*reason};
  try {
    return measure_fastest(problem);
  } catch (const CudnnError& error) {
    if (is_not_supported(error)) return Skipped{error.what()};
    throw;
  }
}

}  // namespace trainyard::cuda
