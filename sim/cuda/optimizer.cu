// Optimizer steps on flat fp32 buffers. Traffic per parameter: momentum reads w, g, m and writes w, m (20
// bytes), adam also reads and writes v (28), each in one kernel. lamb makes five passes (52): the norm of the
// gradients, the norm of the weights, stage 1 (reads w, g, m, v; writes m, v and the update), the update's
// norm, stage 2 (reads w and the update, writes w). The buffer is one tensor for lamb: one pair of norms.

#include "grid.cuh"
#include "optimizer.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "sum_kernel.cuh"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t weight_seed = 0;
constexpr std::uint64_t gradient_seed = 1;
constexpr std::uint64_t m_seed = 2;
constexpr std::uint64_t v_seed = 3;  // its square root: v must not be negative

enum Norm : std::size_t { of_gradient, of_weight, of_update, norm_count };

struct Operands {
  ColdBuffers weight;
  ColdBuffers gradient;
  ColdBuffers m;
  ColdBuffers v;       ///< adam, lamb
  ColdBuffers update;  ///< lamb
  SumLayout layout;    ///< of lamb's norms
  std::array<DeviceBuffer, norm_count> of_blocks;
  DeviceBuffer totals;
  DeviceBuffer counter;
};

__global__ void square(float* values, std::int64_t elements) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * update_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * update_threads + threadIdx.x; i < elements;
       i += step) {
    values[i] *= values[i];
  }
}

void fill_squares(const ColdBuffers& buffers, std::int64_t elements) {
  fill_random(buffers, Dtype::fp32, v_seed);
  const unsigned blocks = grid_blocks(square, update_threads, divide_up(elements, update_threads));
  for (int copy = 0; copy < buffers.copies(); ++copy) {
    square<<<blocks, update_threads>>>(buffers.as<float>(copy), elements);
    CHECK_CUDA(cudaGetLastError());
  }
  CHECK_CUDA(cudaDeviceSynchronize());
}

std::shared_ptr<const Operands> make_operands(const VectorWork& work) {
  const bool has_v = work.variant != "momentum";
  const bool has_update = work.variant == "lamb";
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * sizeof(float);
  const int copies = cold_copies((3U + (has_v ? 1U : 0U) + (has_update ? 1U : 0U)) * bytes);
  auto made = std::make_shared<Operands>();
  made->weight = ColdBuffers(bytes, copies);
  fill_random(made->weight, Dtype::fp32, weight_seed);
  made->gradient = ColdBuffers(bytes, copies);
  fill_random(made->gradient, Dtype::fp32, gradient_seed);
  made->m = ColdBuffers(bytes, copies);
  fill_random(made->m, Dtype::fp32, m_seed);
  if (has_v) {
    made->v = ColdBuffers(bytes, copies);
    fill_squares(made->v, work.elements);
  }
  if (has_update) {
    made->update = ColdBuffers(bytes, copies);
    made->layout = sum_layout<float>(work.elements, Square{});
    for (DeviceBuffer& buffer : made->of_blocks) {
      buffer = DeviceBuffer(static_cast<std::size_t>(made->layout.blocks) * sizeof(float));
    }
    made->totals = DeviceBuffer(norm_count * sizeof(float));
    made->counter = DeviceBuffer(sizeof(unsigned));
    fill_zero(made->counter.data(), made->counter.bytes());
  }
  return made;
}

template <typename Update>
void launch_update(const FlatArrays& arrays, std::int64_t elements, unsigned blocks, const Update& update,
                   cudaStream_t stream) {
  apply_update<<<blocks, update_threads, 0, stream>>>(arrays, elements, update);
  CHECK_CUDA(cudaGetLastError());
}

template <typename Update>
unsigned blocks_for(std::int64_t elements) {
  return grid_blocks(apply_update<Update>, update_threads,
                     divide_up(elements, pack_size<float> * update_threads));
}

FlatArrays arrays_of(const Operands& operands, bool has_v, int repetition) {
  auto* const weight = operands.weight.as<float>(repetition);
  return {weight, operands.gradient.as<float>(repetition), weight, operands.m.as<float>(repetition),
          has_v ? operands.v.as<float>(repetition) : nullptr};
}

/// momentum, adam.
template <typename Update>
Launch single_launch(std::int64_t elements, const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks = blocks_for<Update>(elements);
  return [=](int repetition, cudaStream_t stream) {
    launch_update(arrays_of(*operands, Update::states > 1, repetition), elements, blocks, Update{}, stream);
  };
}

Launch lamb_launch(std::int64_t elements, const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks1 = blocks_for<LambStage1>(elements);
  const unsigned blocks2 = blocks_for<LambStage2>(elements);
  return [=](int repetition, cudaStream_t stream) {
    auto* const totals = operands->totals.as<float>();
    const LambSums sums{totals + of_gradient, totals + of_weight, totals + of_update};
    const auto sum = [&](Norm which, const float* values) {
      const SumResult result{operands->of_blocks[which].as<float>(), totals + which,
                             operands->counter.as<unsigned>()};
      launch_sum(values, operands->layout, result, Square{}, stream);
    };
    FlatArrays arrays = arrays_of(*operands, true, repetition);
    float* const weight = arrays.result;
    float* const update = operands->update.as<float>(repetition);
    sum(of_gradient, arrays.gradient);
    sum(of_weight, weight);
    arrays.result = update;
    launch_update(arrays, elements, blocks1, LambStage1{sums}, stream);
    sum(of_update, update);
    launch_update({weight, update, weight, nullptr, nullptr}, elements, blocks2, LambStage2{sums}, stream);
  };
}

/// A parameter before the step, then after it.
struct Parameter {
  explicit Parameter(std::uint64_t i)
      : weight(stored_value(Dtype::fp32, weight_seed, i)),
        gradient(stored_value(Dtype::fp32, gradient_seed, i)),
        m(stored_value(Dtype::fp32, m_seed, i)),
        v(std::pow(stored_value(Dtype::fp32, v_seed, i), 2)) {}
  double weight, gradient, m, v;
};

/// What LAMB's stages take from the norms, which are checked against the reference first.
struct LambFactors {
  double clip = 1;
  double step = 0;
};

double lamb_update(Parameter& at, double clip) {
  return Moments::advance(at.gradient * clip, at.m, at.v) + Lamb::weight_decay * at.weight;
}

LambFactors check_norms(ReferenceCheck& check, const Operands& operands) {
  const auto total = [&](Norm which) { return value_at(operands.totals.data(), which, Dtype::fp32); };
  LambFactors factors;
  factors.clip = 1 / std::max(std::sqrt(total(of_gradient)) / Lamb::largest_gradient, 1.0);
  factors.step = Lamb::rate * std::sqrt(total(of_weight)) / std::sqrt(total(of_update));
  const auto compare = [&](Norm which, const std::function<double(std::uint64_t)>& root) {
    std::vector<float> of_blocks(static_cast<std::size_t>(operands.layout.blocks));
    read_back(of_blocks.data(), operands.of_blocks[which].data(), of_blocks.size());
    constexpr std::int64_t most_terms = 1 << 18;
    compare_sum(
        check, operands.layout, of_blocks, total(which),
        [&](std::uint64_t i) { return std::pow(root(i), 2); }, most_terms);
  };
  compare(of_gradient, [](std::uint64_t i) { return stored_value(Dtype::fp32, gradient_seed, i); });
  compare(of_weight, [](std::uint64_t i) { return stored_value(Dtype::fp32, weight_seed, i); });
  compare(of_update, [&](std::uint64_t i) {
    Parameter at(i);
    return lamb_update(at, factors.clip);
  });
  return factors;
}

double largest_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("optimizer " + work.variant, Dtype::fp32);
  LambFactors factors;
  if (work.variant == "lamb") factors = check_norms(check, operands);
  for (const std::uint64_t i : sample_positions(static_cast<std::uint64_t>(work.elements))) {
    Parameter at(i);
    double step = 0;
    if (work.variant == "momentum") {
      at.m = Momentum::mu * at.m + at.gradient;
      step = Momentum::rate * at.m;
    } else if (work.variant == "adam") {
      step = Adam::rate * Moments::advance(at.gradient, at.m, at.v);
    } else {
      step = factors.step * lamb_update(at, factors.clip);
    }
    // steps are about 1e-3: what 1e-5 of the weight allows is a hundredth of one
    const double weight = value_at(operands.weight[0], i, Dtype::fp32);
    check.compare(i, weight, at.weight - step, std::abs(at.weight) + std::abs(step));
    const double m_before = stored_value(Dtype::fp32, m_seed, i);
    check.compare(i, value_at(operands.m[0], i, Dtype::fp32), at.m,
                  std::abs(m_before) + std::abs(at.gradient));
    if (work.variant != "momentum") {
      check.compare(i, value_at(operands.v[0], i, Dtype::fp32), at.v, at.v);
    }
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_optimizer(const VectorWork& work) {
  if (work.dtype != Dtype::fp32) throw MeasurementFailed("optimizers work on fp32 parameters");
  const bool is_lamb = work.variant == "lamb";
  if (!is_lamb && work.variant != "momentum" && work.variant != "adam") {
    throw MeasurementFailed("there is no optimizer '" + work.variant + "'");
  }
  const auto operands = make_operands(work);
  Launch launch = is_lamb                  ? lamb_launch(work.elements, operands)
                  : work.variant == "adam" ? single_launch<Adam>(work.elements, operands)
                                           : single_launch<Momentum>(work.elements, operands);
  return {std::move(launch), [=] { return largest_error(work, *operands); }};
}

}  // namespace trainyard::cuda
