// Layer normalisation. Traffic: forward reads x and writes y (2 passes), backward reads x and dy and writes
// dx (3), as rows stay in registers between their sums and their results; the parameters, their gradients and
// the statistics per row are small beside them. Backward is two kernels: the second adds up what the blocks
// of the first gathered for dgamma and dbeta.

#include "layer_norm.cuh"
#include "prepared_kernel.cuh"
#include "reference.hpp"
#include "rotation.cuh"

#include <cmath>
#include <memory>
#include <vector>

namespace trainyard::cuda {
namespace {

constexpr std::uint64_t x_seed = 0;
constexpr std::uint64_t dy_seed = 1;
constexpr std::uint64_t gamma_seed = 2;
constexpr std::uint64_t beta_seed = 3;

struct Operands {
  ColdBuffers x;
  ColdBuffers dy;
  ColdBuffers out;
  DeviceBuffer gamma;
  DeviceBuffer beta;
  DeviceBuffer mean;
  DeviceBuffer inv_std;
  DeviceBuffer partials;
  DeviceBuffer gradients;  ///< dgamma, then dbeta
  Rows rows;
  unsigned forward_blocks = 1;
  unsigned backward_blocks = 1;
};

/// Calls function(TypeTag<T>, the group's integral_constant).
template <typename Function>
auto with_tile(Dtype dtype, const Rows& rows, Function function) {
  return with_stored_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!fits_tile<T>(rows)) {
      throw MeasurementFailed("layer_norm measures rows of whole 16 bytes up to 32 KiB, not of " +
                              std::to_string(rows.width) + " values");
    }
    return with_group<T>(rows, [&](auto group) { return function(tag, group); });
  });
}

std::shared_ptr<const Operands> make_operands(const VectorWork& work, bool is_backward) {
  auto made = std::make_shared<Operands>();
  made->rows = rows_of("layer_norm", work.elements, work.size);
  with_tile(work.dtype, made->rows, [&](auto tag, auto group) {
    using Tile = RowTile<typename decltype(tag)::type, decltype(group)::value>;
    using T = typename decltype(tag)::type;
    const std::int64_t wanted = divide_up(made->rows.count, Tile::groups);
    made->forward_blocks = grid_blocks(layer_norm_forward<T, Tile::group>, Tile::block, wanted);
    // one wave: every block leaves partial sums behind
    made->backward_blocks = grid_blocks(layer_norm_backward<T, Tile::group>, Tile::block, wanted, 1);
  });
  const std::size_t bytes = static_cast<std::size_t>(work.elements) * size_of(work.dtype);
  const int copies = cold_copies((is_backward ? 3 : 2) * bytes);
  made->x = ColdBuffers(bytes, copies);
  fill_random(made->x, work.dtype, x_seed);
  made->out = ColdBuffers(bytes, copies);
  const std::size_t width_bytes = static_cast<std::size_t>(work.size) * sizeof(float);
  made->gamma = DeviceBuffer(width_bytes);
  fill_random(made->gamma, Dtype::fp32, gamma_seed);
  made->beta = DeviceBuffer(width_bytes);
  fill_random(made->beta, Dtype::fp32, beta_seed);
  made->mean = DeviceBuffer(static_cast<std::size_t>(made->rows.count) * sizeof(float));
  made->inv_std = DeviceBuffer(made->mean.bytes());
  if (is_backward) {
    made->dy = ColdBuffers(bytes, copies);
    fill_random(made->dy, work.dtype, dy_seed);
    made->partials = DeviceBuffer(2 * width_bytes * made->backward_blocks);
    made->gradients = DeviceBuffer(2 * width_bytes);
  }
  return made;
}

template <typename T>
LayerNormData<T> data_of(const Operands& operands, int repetition) {
  return {operands.x.as<T>(repetition), operands.dy.as<T>(repetition), operands.out.as<T>(repetition),
          operands.gamma.as<float>(),   operands.beta.as<float>(),     operands.mean.as<float>(),
          operands.inv_std.as<float>(), operands.partials.as<float>()};
}

Launch forward_launch(Dtype dtype, const std::shared_ptr<const Operands>& operands) {
  return with_tile(dtype, operands->rows, [&](auto tag, auto group) -> Launch {
    using T = typename decltype(tag)::type;
    constexpr int threads = decltype(group)::value;
    return [=](int repetition, cudaStream_t stream) {
      layer_norm_forward<T, threads><<<operands->forward_blocks, RowTile<T, threads>::block, 0, stream>>>(
          data_of<T>(*operands, repetition), operands->rows);
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

Launch backward_launch(Dtype dtype, const std::shared_ptr<const Operands>& operands) {
  return with_tile(dtype, operands->rows, [&](auto tag, auto group) -> Launch {
    using T = typename decltype(tag)::type;
    constexpr int threads = decltype(group)::value;
    return [=](int repetition, cudaStream_t stream) {
      layer_norm_backward<T, threads><<<operands->backward_blocks, RowTile<T, threads>::block, 0, stream>>>(
          data_of<T>(*operands, repetition), operands->rows);
      CHECK_CUDA(cudaGetLastError());
      const int columns = 2 * operands->rows.width;
      const auto blocks = static_cast<unsigned>(divide_up(columns, fold_columns));
      fold_partials<<<blocks, dim3(fold_columns, fold_rows), 0, stream>>>(
          operands->partials.as<float>(), static_cast<int>(operands->backward_blocks), columns,
          operands->gradients.as<float>());
      CHECK_CUDA(cudaGetLastError());
    };
  });
}

/// A row in double precision. g = dy gamma and h = (x - mean) inv_std, as in the kernel.
struct RowReference {
  double mean = 0, inv_std = 0;
  double mean_g = 0, mean_gh = 0, mean_abs_g = 0, mean_abs_gh = 0;
};

double gamma_at(std::uint64_t column) { return stored_value(Dtype::fp32, gamma_seed, column); }

RowReference reference_of(Dtype dtype, std::uint64_t first, std::uint64_t width) {
  const auto count = static_cast<double>(width);
  RowReference of;
  double squares = 0;
  for (std::uint64_t i = 0; i < width; ++i) of.mean += stored_value(dtype, x_seed, first + i) / count;
  for (std::uint64_t i = 0; i < width; ++i) {
    squares += std::pow(stored_value(dtype, x_seed, first + i) - of.mean, 2) / count;
  }
  of.inv_std = 1 / std::sqrt(squares + layer_norm_epsilon);
  for (std::uint64_t i = 0; i < width; ++i) {
    const double g = stored_value(dtype, dy_seed, first + i) * gamma_at(i);
    const double h = (stored_value(dtype, x_seed, first + i) - of.mean) * of.inv_std;
    of.mean_g += g / count;
    of.mean_gh += g * h / count;
    of.mean_abs_g += std::abs(g) / count;
    of.mean_abs_gh += std::abs(g * h) / count;
  }
  return of;
}

/// Some values of some rows.
double rows_error(const VectorWork& work, const Operands& operands, bool is_backward) {
  ReferenceCheck check("layer_norm " + work.variant, Dtype::fp32, work.dtype);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  for (const std::uint64_t row : sample_positions(static_cast<std::uint64_t>(operands.rows.count), 12)) {
    const RowReference of = reference_of(work.dtype, row * width, width);
    for (const std::uint64_t column : sample_positions(width, 4)) {
      const std::uint64_t index = row * width + column;
      const double got = value_at(operands.out[0], index, work.dtype);
      const double h = (stored_value(work.dtype, x_seed, index) - of.mean) * of.inv_std;
      if (is_backward) {
        const double g = stored_value(work.dtype, dy_seed, index) * gamma_at(column);
        check.compare(index, got, of.inv_std * (g - of.mean_g - h * of.mean_gh),
                      of.inv_std * (std::abs(g) + of.mean_abs_g + std::abs(h) * of.mean_abs_gh));
      } else {
        const double beta = stored_value(Dtype::fp32, beta_seed, column);
        check.compare(index, got, h * gamma_at(column) + beta,
                      std::abs(h * gamma_at(column)) + std::abs(beta));
      }
    }
  }
  return check.error();
}

/// Some columns of dgamma and dbeta, fewer the more rows there are. The rows' statistics are the kernel's:
/// rows_error has checked what it makes of them.
double columns_error(const VectorWork& work, const Operands& operands) {
  ReferenceCheck check("layer_norm backward, dgamma and dbeta", Dtype::fp32);
  const auto rows = static_cast<std::size_t>(operands.rows.count);
  const auto width = static_cast<std::uint64_t>(operands.rows.width);
  std::vector<float> mean(rows);
  std::vector<float> inv_std(rows);
  read_back(mean.data(), operands.mean.data(), rows);
  read_back(inv_std.data(), operands.inv_std.data(), rows);
  constexpr std::int64_t most_values = 1 << 20;
  const auto samples = static_cast<int>(std::clamp<std::int64_t>(most_values / operands.rows.count, 1, 8));
  for (const std::uint64_t column : sample_positions(width, samples)) {
    double dgamma = 0, dbeta = 0, dgamma_magnitude = 0, dbeta_magnitude = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const double dy = stored_value(work.dtype, dy_seed, row * width + column);
      const double x = stored_value(work.dtype, x_seed, row * width + column);
      const double product = dy * (x - mean[row]) * inv_std[row];
      dgamma += product;
      dgamma_magnitude += std::abs(product);
      dbeta += dy;
      dbeta_magnitude += std::abs(dy);
    }
    const auto got = [&](std::uint64_t i) { return value_at(operands.gradients.data(), i, Dtype::fp32); };
    check.compare(column, got(column), dgamma, dgamma_magnitude);
    check.compare(column, got(width + column), dbeta, dbeta_magnitude);
  }
  return check.error();
}

}  // namespace

PreparedKernel prepare_layer_norm(const VectorWork& work) {
  const bool is_backward = work.variant == "backward";
  if (!is_backward && work.variant != "forward") {
    throw MeasurementFailed("layer_norm has no direction '" + work.variant + "'");
  }
  const auto operands = make_operands(work, is_backward);
  const Launch forward = forward_launch(work.dtype, operands);
  if (!is_backward) return {forward, [=] { return rows_error(work, *operands, false); }};
  forward(0, nullptr);  // mean and deviation, the same in every copy; y goes where dx will be
  CHECK_CUDA(cudaDeviceSynchronize());
  return {backward_launch(work.dtype, operands),
          [=] { return std::max(rows_error(work, *operands, true), columns_error(work, *operands)); }};
}

}  // namespace trainyard::cuda
