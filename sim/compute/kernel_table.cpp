#include "compute/kernel_table.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

/// Sort key: everything but the batch.
auto family(OpKind pass, Dtype dtype, Layout layout, const ConvShape& s) {
  return std::tuple(pass, dtype, layout, s.in_channels, s.height, s.width, s.out_channels, s.kernel_h,
                    s.kernel_w, s.stride, s.pad_h, s.pad_w, s.groups);
}

auto family(const ConvKernel& kernel) {
  return family(kernel.pass, kernel.dtype, kernel.layout, kernel.shape);
}

auto order(const ConvKernel& kernel) { return std::pair(family(kernel), kernel.shape.batch); }

auto order(const GemmKernel& kernel) { return std::pair(kernel.dtype, kernel.shape); }

template <class Kernel>
void sort_and_check(std::vector<Kernel>& kernels, const std::string& name) {
  const auto before = [](const Kernel& a, const Kernel& b) { return order(a) < order(b); };
  std::stable_sort(kernels.begin(), kernels.end(), before);
  const auto same = [](const Kernel& a, const Kernel& b) { return order(a) == order(b); };
  const auto twice = std::adjacent_find(kernels.begin(), kernels.end(), same);
  if (twice != kernels.end()) {
    throw InputError(name + ": a kernel is listed twice: " + to_string(Shape(twice->shape)),
                     "keep one of the rows");
  }
}

}  // namespace

Layout layout_of(const RecordedKernel& kernel) {
  return kernel.variant == "nhwc" ? Layout::nhwc : Layout::nchw;
}

int row_of(const RecordedKernel& kernel) {
  if (kernel.kind != OpKind::softmax) return 0;
  const std::size_t letter = kernel.variant.find(" w");
  const auto length = parse_integer(letter == std::string::npos ? "" : kernel.variant.substr(letter + 2));
  return static_cast<int>(std::clamp<long long>(length.value_or(0), 0, 1'000'000'000));
}

VectorKernel vector_kernel(const RecordedKernel& kernel) {
  const auto names = [&](std::string_view layout) {
    return kernel.variant.find(layout) != std::string::npos;
  };
  const auto layout = names("nhwc")   ? std::optional(Layout::nhwc)
                      : names("nchw") ? std::optional(Layout::nchw)
                                      : std::nullopt;
  return {*kernel.kind, kernel.bytes, kernel.time, row_of(kernel), kernel.dtype, layout};
}

bool has_cast(const RecordedKernel& kernel) {
  return kernel.kind == OpKind::gemm && kernel.variant == variant_with_cast;
}

KernelTable kernel_table(const Recording& recording) {
  KernelTable table;
  for (const RecordedKernel& row : recording.rows) {
    if (!row.kind || row.kind == OpKind::attention || has_cast(row)) continue;
    if (const auto* conv = std::get_if<ConvShape>(&row.shape)) {
      table.convs.push_back({*row.kind, *row.dtype, layout_of(row), *conv, row.time});
    } else if (const auto* gemm = std::get_if<GemmShape>(&row.shape)) {
      table.gemms.push_back({*row.dtype, *gemm, row.time, row.is_derived});
    } else {
      table.vectors.push_back(vector_kernel(row));
    }
  }
  sort_and_check(table.convs, recording.name);
  sort_and_check(table.gemms, recording.name);
  std::stable_sort(table.vectors.begin(), table.vectors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.kind, a.bytes) < std::pair(b.kind, b.bytes);
  });
  for (ConvKernel& kernel : table.convs) {
    if (size_of(kernel.dtype) >= size_of(Dtype::fp32)) continue;
    const auto single = find_kernel(table, kernel.pass, Dtype::fp32, kernel.layout, kernel.shape).duration;
    if (single) kernel.duration = std::min(kernel.duration, *single);
  }
  return table;
}

MeasuredTime find_kernel(const KernelTable& table, OpKind pass, Dtype dtype, Layout layout,
                         const ConvShape& shape) {
  const auto wanted = family(pass, dtype, layout, shape);
  const auto [family_begin, family_end] = std::ranges::equal_range(
      table.convs, wanted, {}, [](const ConvKernel& kernel) { return family(kernel); });
  if (family_begin == family_end) return {};

  const auto above = std::ranges::lower_bound(family_begin, family_end, shape.batch, {},
                                              [](const ConvKernel& kernel) { return kernel.shape.batch; });
  if (above == family_end) return {.at_least = std::prev(family_end)->duration};
  if (above->shape.batch == shape.batch) return {.duration = above->duration};
  if (above == family_begin) return {.at_most = above->duration};
  const auto below = std::prev(above);
  const double part = static_cast<double>(shape.batch - below->shape.batch) /
                      static_cast<double>(above->shape.batch - below->shape.batch);
  return {.duration = below->duration + part * (above->duration - below->duration)};
}

const GemmKernel* find_product(const KernelTable& table, Dtype dtype, const GemmShape& shape) {
  const auto it = std::ranges::lower_bound(table.gemms, std::pair(dtype, shape), {},
                                           [](const GemmKernel& kernel) { return order(kernel); });
  if (it == table.gemms.end() || order(*it) != std::pair(dtype, shape)) return nullptr;
  return &*it;
}

std::optional<Seconds> find_kernel(const KernelTable& table, Dtype dtype, const GemmShape& shape) {
  const GemmKernel* product = find_product(table, dtype, shape);
  return product == nullptr ? std::nullopt : std::optional(product->duration);
}

}  // namespace trainyard
