// The sum of all values, in fp32. Traffic: each value is read once.

#include "prepared_kernel.cuh"
#include "rotation.cuh"
#include "sum_kernel.cuh"

#include <memory>

namespace trainyard::cuda {
namespace {

struct Operands {
  ColdBuffers values;
  DeviceBuffer of_blocks;
  DeviceBuffer total;
  DeviceBuffer counter;
  SumLayout layout;
};

std::shared_ptr<const Operands> make_operands(const VectorWork& work) {
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  auto made = std::make_shared<Operands>();
  made->values = ColdBuffers(bytes, cold_copies(bytes));
  fill_random(made->values, work.dtype, 0);
  made->layout = with_stored_type(work.dtype, [&](auto tag) {
    return sum_layout<typename decltype(tag)::type>(work.elements, Itself{});
  });
  made->of_blocks = DeviceBuffer(static_cast<std::size_t>(made->layout.blocks) * sizeof(float));
  made->total = DeviceBuffer(sizeof(float));
  made->counter = DeviceBuffer(sizeof(unsigned));
  fill_zero(made->counter.data(), made->counter.bytes());
  return made;
}

Launch launch_of(const VectorWork& work, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(work.dtype, [&](auto tag) -> Launch {
    using T = typename decltype(tag)::type;
    return [=](int repetition, cudaStream_t stream) {
      const SumResult result{operands->of_blocks.as<float>(), operands->total.as<float>(),
                             operands->counter.as<unsigned>()};
      launch_sum(operands->values.as<T>(repetition), operands->layout, result, Itself{}, stream);
    };
  });
}

double largest_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("reduction " + work.variant, Dtype::fp32);
  std::vector<float> of_blocks(static_cast<std::size_t>(operands.layout.blocks));
  read_back(of_blocks.data(), operands.of_blocks.data(), of_blocks.size());
  compare_sum(check, operands.layout, of_blocks, value_at(operands.total.data(), 0, Dtype::fp32),
              [&](std::uint64_t i) { return stored_value(work.dtype, 0, i); });
  return check.error();
}

}  // namespace

PreparedKernel prepare_reduction(const VectorWork& work) {
  if (work.variant != "sum") throw MeasurementFailed("there is no reduction '" + work.variant + "'");
  const auto operands = make_operands(work);
  return {launch_of(work, operands), [=] { return largest_error(work, *operands); }};
}

}  // namespace trainyard::cuda
