// Ops on each value alone. Traffic: each operand is read once, the result written once (add: two reads and
// one write; relu, gelu and chain4: one and one).

#include "grid.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "vector_types.cuh"

#include <cmath>
#include <memory>

namespace trainyard::cuda {
namespace {

constexpr int threads = 256;
constexpr int unroll = 2;  // loads under way per thread and operand

/// A reference, and the sum of the absolute values of the terms it is made of.
struct Expected {
  double value = 0;
  double magnitude = 0;
};

struct Add {
  static constexpr int operands = 2;
  __device__ float operator()(const float (&x)[2]) const { return x[0] + x[1]; }
  static Expected reference(const double (&x)[2]) { return {x[0] + x[1], std::abs(x[0]) + std::abs(x[1])}; }
};

struct Relu {
  static constexpr int operands = 1;
  __device__ float operator()(const float (&x)[1]) const { return fmaxf(x[0], 0.0F); }
  static Expected reference(const double (&x)[1]) { return {std::max(x[0], 0.0), std::abs(x[0])}; }
};

/// The exact GELU by the error function, x/2 (1 + erf(x / sqrt 2)), the default of frameworks, and not the
/// approximation by tanh.
struct Gelu {
  static constexpr int operands = 1;
  static constexpr double root_half = 0.70710678118654752;
  __device__ float operator()(const float (&x)[1]) const {
    return 0.5F * x[0] * (1.0F + erff(static_cast<float>(root_half) * x[0]));
  }
  static Expected reference(const double (&x)[1]) {
    return {0.5 * x[0] * (1 + std::erf(root_half * x[0])), std::abs(x[0])};
  }
};

/// Four ops that each need the one before, as a compiler fuses them: scale, shift, clamp below, scale.
struct Chain4 {
  static constexpr int operands = 1;
  static constexpr float scale = 1.25F;
  static constexpr float shift = 0.375F;
  static constexpr float last_scale = 0.75F;
  __device__ float operator()(const float (&x)[1]) const {
    return fmaxf(x[0] * scale + shift, 0.0F) * last_scale;
  }
  static Expected reference(const double (&x)[1]) {
    return {std::max(x[0] * scale + shift, 0.0) * last_scale, (std::abs(x[0]) * scale + shift) * last_scale};
  }
};

template <typename T, int operands>
struct Pointers {
  const T* operand[operands];
  T* result;
};

template <typename T, typename Op>
__global__ void __launch_bounds__(threads)
    apply(Pointers<T, Op::operands> data, std::int64_t elements, Op op) {
  constexpr int size = pack_size<T>;
  const std::int64_t packs = elements / size;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  for (std::int64_t first = thread; first < packs; first += unroll * step) {
    Pack<T, size> in[unroll][Op::operands];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t index = first + u * step;
      if (index >= packs) break;
#pragma unroll
      for (int i = 0; i < Op::operands; ++i) in[u][i] = as_packs(data.operand[i])[index];
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const std::int64_t index = first + u * step;
      if (index >= packs) break;
      float values[Op::operands][size];
#pragma unroll
      for (int i = 0; i < Op::operands; ++i) unpack(in[u][i], values[i]);
      float results[size];
#pragma unroll
      for (int v = 0; v < size; ++v) {
        float x[Op::operands];
#pragma unroll
        for (int i = 0; i < Op::operands; ++i) x[i] = values[i][v];
        results[v] = op(x);
      }
      as_packs(data.result)[index] = packed<T>(results);
    }
  }
  const std::int64_t tail = packs * size + thread;  // fewer values than a pack: the first threads take them
  if (tail < elements) {
    float x[Op::operands];
#pragma unroll
    for (int i = 0; i < Op::operands; ++i) x[i] = to_float(data.operand[i][tail]);
    data.result[tail] = from_float<T>(op(x));
  }
}

struct Operands {
  ColdBuffers operand[2];
  ColdBuffers result;
};

template <typename Op>
std::shared_ptr<const Operands> make_operands(const VectorWork& work) {
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  const int copies = cold_copies((Op::operands + 1) * bytes);
  auto made = std::make_shared<Operands>();
  for (int i = 0; i < Op::operands; ++i) {
    made->operand[i] = ColdBuffers(bytes, copies);
    fill_random(made->operand[i], work.dtype, static_cast<std::uint64_t>(i));
  }
  made->result = ColdBuffers(bytes, copies);
  return made;
}

template <typename Op>
Launch launch_of(const VectorWork& work, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(work.dtype, [&](auto tag) -> Launch {
    using T = typename decltype(tag)::type;
    const std::int64_t elements = work.elements;
    const unsigned blocks = grid_blocks(apply<T, Op>, threads, divide_up(elements, pack_size<T> * threads));
    return [=](int repetition, cudaStream_t stream) {
      Pointers<T, Op::operands> data{};
      for (int i = 0; i < Op::operands; ++i)
        data.operand[i] = operands->operand[i].template as<T>(repetition);
      data.result = operands->result.template as<T>(repetition);
      apply<T, Op><<<blocks, threads, 0, stream>>>(data, elements, Op{});
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

template <typename Op>
double largest_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("elementwise " + work.variant, work.dtype);
  for (const std::uint64_t position : sample_positions(static_cast<std::uint64_t>(work.elements))) {
    double x[Op::operands];
    for (int i = 0; i < Op::operands; ++i) {
      x[i] = stored_value(work.dtype, static_cast<std::uint64_t>(i), position);
    }
    const Expected expected = Op::reference(x);
    check.compare(position, value_at(operands.result[0], position, work.dtype), expected.value,
                  expected.magnitude);
  }
  return check.error();
}

template <typename Op>
PreparedKernel prepare(const VectorWork& work) {
  const auto operands = make_operands<Op>(work);
  return {launch_of<Op>(work, operands), [=] { return largest_error<Op>(work, *operands); }};
}

}  // namespace

PreparedKernel prepare_elementwise(const VectorWork& work) {
  if (work.variant == "add") return prepare<Add>(work);
  if (work.variant == "relu") return prepare<Relu>(work);
  if (work.variant == "gelu") return prepare<Gelu>(work);
  if (work.variant == "chain4") return prepare<Chain4>(work);
  throw MeasurementFailed("there is no elementwise '" + work.variant + "'");
}

PreparedKernel prepare_add(Dtype dtype, std::int64_t elements) {
  return prepare_elementwise({"add", dtype, elements, 0});
}

}  // namespace trainyard::cuda
