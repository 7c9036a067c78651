// Softmax over rows. Traffic: forward reads x and writes y (2 passes), backward reads forward's result and
// the gradient and writes dx (3). Rows up to 32 KiB stay in registers; of longer ones, and of rows that are
// not whole 16 bytes, the second read is served by the L2 cache.

#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"
#include "softmax.cuh"

#include <cmath>
#include <memory>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t in_seed = 0;
constexpr std::uint64_t y_seed = 1;  // backward's mathematics does not need a row of y to add up to 1

struct Operands {
  ColdBuffers y;
  ColdBuffers in;
  ColdBuffers out;
  Rows rows;
};

std::shared_ptr<const Operands> make_operands(const VectorWork& work, bool is_backward) {
  auto made = std::make_shared<Operands>();
  made->rows = rows_of("softmax", work.elements, work.size);
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  const int copies = cold_copies((is_backward ? 3 : 2) * bytes);
  made->in = ColdBuffers(bytes, copies);
  fill_random(made->in, work.dtype, in_seed);
  made->out = ColdBuffers(bytes, copies);
  if (is_backward) {
    made->y = ColdBuffers(bytes, copies);
    fill_random(made->y, work.dtype, y_seed);
  }
  return made;
}

/// `groups` rows are taken by a block at a time.
template <typename T>
Launch launch_of(void (*kernel)(SoftmaxData<T>, Rows), int threads, int groups, bool is_backward,
                 const std::shared_ptr<const Operands>& operands) {
  const unsigned blocks = grid_blocks(kernel, threads, divide_up(operands->rows.count, groups));
  return [=](int repetition, cudaStream_t stream) {
    const T* y = is_backward ? operands->y.as<T>(repetition) : nullptr;
    const SoftmaxData<T> data{y, operands->in.as<T>(repetition), operands->out.as<T>(repetition)};
    kernel<<<blocks, static_cast<unsigned>(threads), 0, stream>>>(data, operands->rows);
    CHECK_CUDA(cudaGetLastError());
  };
}

template <typename T, int size>
Launch long_launch(bool is_backward, const std::shared_ptr<const Operands>& operands) {
  const auto kernel = is_backward ? long_softmax_backward<T, size> : long_softmax_forward<T, size>;
  return launch_of<T>(kernel, long_row_threads, 1, is_backward, operands);
}

Launch launch_of(Dtype dtype, bool is_backward, const std::shared_ptr<const Operands>& operands) {
  return with_stored_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Rows& rows = operands->rows;
    if (rows.width % pack_size<T> != 0) return long_launch<T, 1>(is_backward, operands);
    if (!fits_tile<T>(rows)) return long_launch<T, pack_size<T>>(is_backward, operands);
    return with_group<T>(rows, [&](auto group) {
      using Tile = RowTile<T, decltype(group)::value>;
      const auto kernel = is_backward ? softmax_backward<T, Tile::group> : softmax_forward<T, Tile::group>;
      return launch_of<T>(kernel, Tile::block, Tile::groups, is_backward, operands);
    });
  });
}

double forward_error(const VectorWork& work, const Operands& operands,
                     const std::vector<std::uint64_t>& rows) {
  ReferenceCheck check("softmax forward", Dtype::fp32, work.dtype);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  for (const std::uint64_t row : rows) {
    // values lie in [-1, 1]: no maximum is needed to keep the exponentials small
    double sum = 0;
    for (std::uint64_t i = 0; i < width; ++i) {
      sum += std::exp(stored_value(work.dtype, in_seed, row * width + i));
    }
    for (const std::uint64_t column : sample_positions(width, 4)) {
      const std::uint64_t index = row * width + column;
      const double expected = std::exp(stored_value(work.dtype, in_seed, index)) / sum;
      check.compare(index, value_at(operands.out[0], index, work.dtype), expected, expected);
    }
  }
  return check.error();
}

double backward_error(const VectorWork& work, const Operands& operands,
                      const std::vector<std::uint64_t>& rows) {
  ReferenceCheck check("softmax backward", Dtype::fp32, work.dtype);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  for (const std::uint64_t row : rows) {
    double sum = 0;
    double magnitude = 0;
    for (std::uint64_t i = 0; i < width; ++i) {
      const double product = stored_value(work.dtype, y_seed, row * width + i) *
                             stored_value(work.dtype, in_seed, row * width + i);
      sum += product;
      magnitude += std::abs(product);
    }
    for (const std::uint64_t column : sample_positions(width, 4)) {
      const std::uint64_t index = row * width + column;
      const double y = stored_value(work.dtype, y_seed, index);
      const double dy = stored_value(work.dtype, in_seed, index);
      check.compare(index, value_at(operands.out[0], index, work.dtype), y * (dy - sum),
                    std::abs(y) * (std::abs(dy) + magnitude));
    }
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_softmax(const VectorWork& work) {
  const bool is_backward = work.variant == "backward";
  if (!is_backward && work.variant != "forward") {
    throw MeasurementFailed("softmax has no direction '" + work.variant + "'");
  }
  const auto operands = make_operands(work, is_backward);
  return {launch_of(work.dtype, is_backward, operands), [=] {
            constexpr int most_values = 1 << 20;
            const int samples = std::clamp(most_values / work.size, 1, 12);
            const auto rows = sample_positions(static_cast<std::uint64_t>(operands->rows.count), samples);
            return is_backward ? backward_error(work, *operands, rows) : forward_error(work, *operands, rows);
          }};
}

}  // namespace trainyard::cuda
