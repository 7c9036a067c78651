#include "compute/kernel_table.hpp"

#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 4> columns{"op", "dtype", "shape", "time_us"};
constexpr std::array<std::string_view, 4> ops{"conv_forward", "conv_dgrad", "conv_wgrad", "gemm"};
constexpr std::array op_kinds{OpKind::conv_forward, OpKind::conv_dgrad, OpKind::conv_wgrad, OpKind::gemm};
constexpr std::array<std::string_view, 4> dtypes{"fp32", "tf32", "fp16", "bf16"};
constexpr std::array dtype_values{Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16};
constexpr double longest_kernel_us = 1e9;

/// Everything but the batch.
auto family(OpKind pass, Dtype dtype, const ConvShape& s) {
  return std::tuple(pass, dtype, s.in_channels, s.height, s.width, s.out_channels, s.kernel_h, s.kernel_w,
                    s.stride, s.pad_h, s.pad_w, s.groups);
}

auto order(const ConvKernel& kernel) {
  return std::pair(family(kernel.pass, kernel.dtype, kernel.shape), kernel.shape.batch);
}

auto order(const GemmKernel& kernel) { return std::pair(kernel.dtype, kernel.shape); }

template <std::size_t N>
std::optional<std::size_t> position(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return std::nullopt;
  return static_cast<std::size_t>(it - names.begin());
}

bool check_header(const CsvFile& file, CsvProblems& problems) {
  const bool is_right =
      std::equal(file.header.cells.begin(), file.header.cells.end(), columns.begin(), columns.end(),
                 [](const CsvCell& c, std::string_view n) { return c.text == n; });
  if (!is_right)
    problems.error(file.header.line, "wrong columns", "a kernel table has op,dtype,shape,time_us");
  return is_right;
}

void read_row(const CsvRow& row, KernelTable& table, CsvProblems& problems) {
  const auto unknown = [&](std::size_t column, std::string what, std::string hint) {
    problems.error(row.line, row.cells[column], columns[column], std::move(what), std::move(hint));
  };
  const std::string& op_text = row.cells[0].text;
  const auto op = position(ops, op_text);
  if (!op) unknown(0, "unknown op '" + op_text + "'", config::suggest(op_text, ops));
  const std::string& dtype_text = row.cells[1].text;
  const auto dtype = position(dtypes, dtype_text);
  if (!dtype) unknown(1, "unknown data type '" + dtype_text + "'", config::suggest(dtype_text, dtypes));

  const std::string& shape_text = row.cells[2].text;
  const auto shape = parse_shape(shape_text);
  const auto* conv = shape ? std::get_if<ConvShape>(&*shape) : nullptr;
  const auto* gemm = shape ? std::get_if<GemmShape>(&*shape) : nullptr;
  const bool wants_gemm = op && op_kinds[*op] == OpKind::gemm;
  const bool has_shape = wants_gemm ? gemm != nullptr : conv != nullptr;
  if (op && !has_shape) {
    unknown(2, "'" + shape_text + "' is no shape of a " + (wants_gemm ? "matrix product" : "convolution"),
            wants_gemm ? "for example m128 n1000 k2048 nt" : "for example n16 c64 h56 w56 k256 r1x1 s1 p0x0");
  }
  const Parsed<double> parsed = parse_number(row.cells[3].text);
  const double* time = std::get_if<double>(&parsed);
  const bool is_time = time != nullptr && *time > 0 && *time <= longest_kernel_us;
  if (!is_time) unknown(3, "'" + row.cells[3].text + "' is no time in microseconds", "a number above 0");
  if (!op || !dtype || !has_shape || !is_time) return;

  const Seconds duration(*time * 1e-6);
  if (wants_gemm) {
    table.gemms.push_back({dtype_values[*dtype], *gemm, duration});
  } else {
    table.convs.push_back({op_kinds[*op], dtype_values[*dtype], *conv, duration});
  }
}

template <class Kernel>
void sort_and_check(std::vector<Kernel>& kernels, CsvProblems& problems) {
  const auto before = [](const Kernel& a, const Kernel& b) { return order(a) < order(b); };
  std::stable_sort(kernels.begin(), kernels.end(), before);
  const auto same = [](const Kernel& a, const Kernel& b) { return order(a) == order(b); };
  const auto twice = std::adjacent_find(kernels.begin(), kernels.end(), same);
  if (twice != kernels.end()) {
    problems.error(0, "a kernel is listed twice: " + to_string(Shape(twice->shape)), "keep one of the rows");
  }
}

}  // namespace

MeasuredTime find_kernel(const KernelTable& table, OpKind pass, Dtype dtype, const ConvShape& shape) {
  const auto wanted = family(pass, dtype, shape);
  const auto of = [](const ConvKernel& k) { return family(k.pass, k.dtype, k.shape); };
  const auto family_begin = std::lower_bound(table.convs.begin(), table.convs.end(), wanted,
                                             [&](const ConvKernel& k, const auto& w) { return of(k) < w; });
  auto family_end = family_begin;
  while (family_end != table.convs.end() && of(*family_end) == wanted) ++family_end;
  if (family_begin == family_end) return {};

  const auto above = std::lower_bound(family_begin, family_end, shape.batch,
                                      [](const ConvKernel& k, int batch) { return k.shape.batch < batch; });
  if (above == family_end) return {.at_least = std::prev(family_end)->duration};
  if (above->shape.batch == shape.batch) return {.duration = above->duration};
  if (above == family_begin) return {.at_most = above->duration};
  const auto below = std::prev(above);
  const double part = static_cast<double>(shape.batch - below->shape.batch) /
                      static_cast<double>(above->shape.batch - below->shape.batch);
  return {.duration = below->duration + part * (above->duration - below->duration)};
}

std::optional<Seconds> find_kernel(const KernelTable& table, Dtype dtype, const GemmShape& shape) {
  const auto it = std::lower_bound(table.gemms.begin(), table.gemms.end(), std::pair(dtype, shape),
                                   [](const GemmKernel& k, const auto& wanted) { return order(k) < wanted; });
  if (it == table.gemms.end() || order(*it) != std::pair(dtype, shape)) return std::nullopt;
  return it->duration;
}

KernelTable read_kernel_table(std::string name, std::string_view text) {
  CsvProblems problems(std::move(name), text);
  const CsvFile file = parse_csv(text, problems);
  if (file.header.cells.empty() || !check_header(file, problems)) problems.finish();
  KernelTable table;
  table.convs.reserve(file.rows.size());
  for (const CsvRow& row : file.rows) read_row(row, table, problems);
  sort_and_check(table.convs, problems);
  sort_and_check(table.gemms, problems);
  problems.finish();
  return table;
}

}  // namespace trainyard
