#include "compute/op_time.hpp"

#include "compute/alignment.hpp"
#include "compute/curves.hpp"
#include "compute/nearest.hpp"
#include "compute/product_tiles.hpp"
#include "config/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <memory>
#include <string>

namespace trainyard {
namespace {

ComputeSource source_of(Provenance provenance) {
  const bool is_measured = provenance == Provenance::measured || provenance == Provenance::fitted;
  return is_measured ? ComputeSource::fitted : ComputeSource::roofline;
}

const MatrixRates& rates_of(const GpuProfile& gpu, Dtype dtype) {
  const MatrixRates* rates = find_rates(gpu, dtype);
  assert(rates != nullptr);  // checked by matrix_dtype
  return *rates;
}

/// A curve and the source of its figures.
struct Curve {
  Roofline roofline;
  ComputeSource source{};
};

Seconds time_on(const GpuProfile& gpu, Dtype dtype, const Roofline& curve, const Work& work) {
  return roofline_time(curve, rates_of(gpu, dtype).peak.value, gpu.memory.bandwidth.value, work);
}

/// The time of a product on its own curve.
Seconds time_on(const GpuProfile& gpu, Dtype dtype, const GemmCurve& curve, const Work& work, int k) {
  return product_time(curve, rates_of(gpu, dtype).peak.value, gpu.memory.bandwidth.value, work, k);
}

OpTime general_time(const GpuProfile& gpu, Dtype dtype, const Work& work) {
  return {time_on(gpu, dtype, gpu.roofline.value, work), ComputeSource::roofline};
}

/// A convolution: its pass, type, layout and shape.
struct Conv {
  OpKind pass{};
  Dtype dtype{};
  Layout layout{};
  const ConvShape& shape;
};

std::optional<Curve> curve_of(const GpuProfile& gpu, const Conv& conv) {
  const ConvPasses* fits = find_conv_fits(rates_of(gpu, conv.dtype), conv.layout);
  if (fits == nullptr) return std::nullopt;
  const Sourced<ConvFit>& fit = fit_of(*fits, conv.pass);
  const auto roofline = curve_of(fit.value, class_of(conv.shape));
  if (!roofline) return std::nullopt;
  return Curve{*roofline, source_of(fit.provenance)};
}

/// From the kernels of the same pass, type, layout and class.
double correction(const GpuProfile& gpu, const Conv& conv, const Roofline& curve) {
  Correction nearest;
  const ConvClass conv_class = class_of(conv.shape);
  for (const ConvKernel& kernel : gpu.kernel_table.convs) {
    if (kernel.pass != conv.pass || kernel.dtype != conv.dtype || kernel.layout != conv.layout ||
        class_of(kernel.shape) != conv_class) {
      continue;
    }
    const Seconds expected = time_on(gpu, conv.dtype, curve, work_of(kernel.shape, kernel.dtype));
    nearest.add(squared_distance(kernel.shape, conv.shape), kernel.duration / expected);
  }
  return nearest.value();
}

/// The products of a type in the table that are stored as `shape`; if there are none, all of that type, as if
/// transposes made no difference.
std::vector<const GemmKernel*> alike(const KernelTable& table, Dtype dtype, const GemmShape& shape) {
  std::vector<const GemmKernel*> of_type;
  for (const GemmKernel& kernel : table.gemms) {
    if (kernel.dtype == dtype) of_type.push_back(&kernel);
  }
  const auto is_other = [&](const GemmKernel* kernel) {
    return kernel->shape.transpose_a != shape.transpose_a || kernel->shape.transpose_b != shape.transpose_b;
  };
  if (!std::ranges::all_of(of_type, is_other)) std::erase_if(of_type, is_other);
  return of_type;
}

/// Whether rows of all operands and of the result begin at multiples of 16 bytes. A measured product stands
/// for others only if cuBLAS can take the same kernels for them, and that depends on the rows alone, as they
/// lie in memory.
bool has_aligned_rows(const GemmShape& shape, Dtype dtype) {
  const std::array rows{shape.transpose_a ? shape.m : shape.k, shape.transpose_b ? shape.k : shape.n,
                        shape.n};
  return are_aligned(rows, values_per_vector(size_of(dtype)));
}

/// Measured over expected time of the kernels whose rows are as aligned as those of `shape`.
double correction(const GpuProfile& gpu, Dtype dtype, const GemmShape& shape, const GemmCurve& curve) {
  Correction nearest;
  const bool is_aligned = has_aligned_rows(shape, dtype);
  for (const GemmKernel* kernel : alike(gpu.kernel_table, dtype, shape)) {
    if (has_aligned_rows(kernel->shape, dtype) != is_aligned) continue;
    const Seconds expected = time_on(gpu, dtype, curve, work_of(kernel->shape, dtype), kernel->shape.k);
    nearest.add(squared_distance(kernel->shape, shape), kernel->duration / expected);
  }
  return nearest.value();
}

/// A convolution in groups. The fits rest on kernels of dense ones, so it has the profile's general roofline.
/// Assumed: its products run on matrix units only if the channels of a group fill a tile, otherwise on
/// ordinary cores, at their fp32 rate. Depthwise convolutions, with 2 FLOPs per weight of a window and value,
/// are then limited by memory bandwidth.
OpTime grouped_time(const GpuProfile& gpu, const Conv& conv, const Work& work) {
  constexpr int tile = 16;  // of a matrix instruction on 16-bit operands: mma.m16n8k16, NVIDIA PTX ISA
  const int channels = std::min(conv.shape.in_channels, conv.shape.out_channels) / conv.shape.groups;
  return general_time(gpu, channels < tile ? Dtype::fp32 : conv.dtype, work);
}

OpTime conv_time(const GpuProfile& gpu, const Conv& conv, const Work& work) {
  const MeasuredTime measured = find_kernel(gpu.kernel_table, conv.pass, conv.dtype, conv.layout, conv.shape);
  if (measured.duration) return {*measured.duration, ComputeSource::measured};
  if (conv.shape.groups > 1) return grouped_time(gpu, conv, work);
  OpTime time = general_time(gpu, conv.dtype, work);
  if (const auto curve = curve_of(gpu, conv)) {
    time = {correction(gpu, conv, curve->roofline) * time_on(gpu, conv.dtype, curve->roofline, work),
            curve->source};
  }
  if (measured.at_least) time.duration = std::max(time.duration, *measured.at_least);
  if (measured.at_most) time.duration = std::min(time.duration, *measured.at_most);
  return time;
}

/// A layout without data is as fast as the other.
Layout known_layout(const GpuProfile& gpu, Dtype dtype, Layout layout) {
  const MatrixRates& rates = rates_of(gpu, dtype);
  if (layout == Layout::nhwc) return rates.conv_nhwc ? Layout::nhwc : Layout::nchw;
  return rates.conv || !rates.conv_nhwc ? Layout::nchw : Layout::nhwc;
}

/// In 16 bits, a framework's search chooses the fp32 kernel if it is faster; it moves twice the bytes.
OpTime fastest_conv_time(const GpuProfile& gpu, const Conv& conv, const Work& work) {
  const OpTime time = conv_time(gpu, conv, work);
  if (conv.dtype != Dtype::fp16 && conv.dtype != Dtype::bf16) return time;
  const Layout layout = known_layout(gpu, Dtype::fp32, conv.layout);
  const OpTime single =
      conv_time(gpu, {conv.pass, Dtype::fp32, layout, conv.shape}, {work.flops, 2 * work.bytes});
  return single.duration < time.duration ? single : time;
}

OpTime gemm_time(const GpuProfile& gpu, Dtype dtype, const Shape& op_shape, const Work& work) {
  const MatrixRates& rates = rates_of(gpu, dtype);
  const auto* shape = std::get_if<GemmShape>(&op_shape);
  if (shape != nullptr) {
    if (const GemmKernel* kernel = find_product(gpu.kernel_table, dtype, *shape)) {
      return {kernel->duration, kernel->is_derived ? ComputeSource::fitted : ComputeSource::measured};
    }
  }
  if (!rates.gemm) return general_time(gpu, dtype, work);
  const GemmCurve& curve = rates.gemm->value;
  const auto source = source_of(rates.gemm->provenance);
  if (shape == nullptr) return {time_on(gpu, dtype, curve, work, 0), source};
  return {correction(gpu, dtype, *shape, curve) * time_on(gpu, dtype, curve, work, shape->k), source};
}

/// Factor on the work of causal attention over a short sequence.
double more_if_causal(const MatrixRates& rates, const Op& op) {
  if (!rates.attention_tokens || !is_causal_attention(op)) return 1;
  return 1 + rates.attention_tokens->value / std::get<GemmShape>(op.shape).n;
}

/// Time of the keys that a tile of queries takes one after the other.
Seconds time_of_keys(const MatrixRates& rates, const Op& op) {
  const auto* shape = std::get_if<GemmShape>(&op.shape);
  if (!rates.attention_key_time || shape == nullptr) return Seconds();
  return static_cast<double>(shape->n) * rates.attention_key_time->value;
}

/// The roofline of matrix products at the profile's efficiency; without one, at an assumed part of theirs.
/// FlashAttention-2 reaches 50 to 73 % of an A100's peak where products reach 80 to 90 % (Dao 2023, arXiv
/// 2307.08691, section 4.1).
OpTime attention_time(const GpuProfile& gpu, Dtype dtype, const Op& op) {
  constexpr double part_of_product = 0.6;
  const MatrixRates& rates = rates_of(gpu, dtype);
  const Work work{more_if_causal(rates, op) * op.flops, op.bytes};
  Roofline curve = gpu.roofline.value;
  if (rates.gemm) {
    const GemmCurve& gemm = rates.gemm->value;
    curve = {gemm.efficiency, gemm.bandwidth_fraction, gemm.t0};
  }
  if (rates.attention) {
    curve.efficiency = rates.attention->value;
    if (rates.attention_t0) curve.t0 = rates.attention_t0->value;
    return {time_on(gpu, dtype, curve, work) + time_of_keys(rates, op),
            source_of(rates.attention->provenance)};
  }
  curve.efficiency *= part_of_product;
  return {time_on(gpu, dtype, curve, work), ComputeSource::roofline};
}

int row_of(const Op& op) {
  const auto* shape = std::get_if<VectorShape>(&op.shape);
  return shape == nullptr ? 0 : shape->row;
}

/// The kernels of an op's kind, of its layout if any of them has it, and of its type if any of those has it.
std::vector<const VectorKernel*> alike(const KernelTable& table, const Op& op, Dtype dtype, Layout layout) {
  std::vector<const VectorKernel*> kernels;
  const bool is_wide = is_wide_softmax(op.kind, row_of(op));
  for (const VectorKernel& kernel : table.vectors) {
    if (kernel.kind == op.kind && is_wide_softmax(kernel.kind, kernel.row) == is_wide)
      kernels.push_back(&kernel);
  }
  const auto keep = [&](const auto& is_alike) {
    if (std::ranges::any_of(kernels, is_alike)) std::erase_if(kernels, std::not_fn(is_alike));
  };
  keep([&](const VectorKernel* kernel) { return kernel->layout == layout; });
  const Dtype of_values = dtype == Dtype::tf32 ? Dtype::fp32 : dtype;
  keep([&](const VectorKernel* kernel) { return kernel->dtype == of_values; });
  return kernels;
}

double correction(const GpuProfile& gpu, const Op& op, Dtype dtype, Layout layout, const Roofline& curve) {
  Correction nearest;
  for (const VectorKernel* kernel : alike(gpu.kernel_table, op, dtype, layout)) {
    const Seconds expected = time_on(gpu, Dtype::fp32, curve, {Flops(), kernel->bytes});
    nearest.add(squared_distance(kernel->bytes, op.bytes), kernel->duration / expected);
  }
  return nearest.value();
}

OpTime vector_time(const GpuProfile& gpu, const Op& op, Dtype dtype, Layout layout) {
  const Sourced<double>& fraction = bandwidth_fraction(gpu.vector, op.kind, row_of(op));
  const Roofline curve{1, fraction.value, gpu.vector.t0.value};
  const double factor = op.bytes > Bytes() ? correction(gpu, op, dtype, layout, curve) : 1;
  return {factor * time_on(gpu, Dtype::fp32, curve, {op.flops, op.bytes}), source_of(fraction.provenance)};
}

/// The rates of a data type and of all that a step with it needs besides.
bool has_units(const GpuProfile& gpu, Dtype dtype) {
  const auto has = [&](Dtype one) { return find_rates(gpu, one) != nullptr; };
  return has(dtype) && (!is_narrow(dtype) || has(Dtype::bf16)) && (dtype != Dtype::mxfp8 || has(Dtype::fp8));
}

std::string usable_precisions(const GpuProfile& gpu) {
  std::string list;
  for (const auto& name : config::Names<Precision>::table) {
    const Dtype dtype = dtype_of(name.value);
    if (dtype != Dtype::tf32 && !has_units(gpu, dtype)) continue;
    if (config::name_of(name.value) != name.text) continue;  // another spelling
    list += (list.empty() ? "" : ", ") + std::string(name.text);
  }
  return list;
}

}  // namespace

Dtype dtype_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return Dtype::fp32;
    case Precision::tf32:
      return Dtype::tf32;
    case Precision::fp16:
    case Precision::amp:
      return Dtype::fp16;
    case Precision::bf16:
    case Precision::amp_bf16:
    case Precision::pure_bf16:
      return Dtype::bf16;
    case Precision::fp8:
      return Dtype::fp8;
    case Precision::mxfp8:
      return Dtype::mxfp8;
    case Precision::nvfp4:
      return Dtype::nvfp4;
  }
  return Dtype::fp32;
}

Dtype dtype_of(Precision precision, const Op& op) {
  return is_narrow(precision) && !op.in_8_bits ? Dtype::bf16 : dtype_of(precision);
}

Dtype matrix_dtype(const GpuProfile& gpu, Precision precision) {
  const Dtype dtype = dtype_of(precision);
  if (has_units(gpu, dtype)) return dtype;
  if (dtype == Dtype::tf32) return Dtype::fp32;
  throw InputError(gpu.name + " has no " + std::string(config::name_of(dtype)) + " matrix unit (precision " +
                       std::string(config::name_of(precision)) + ")",
                   "use one of " + usable_precisions(gpu));
}

FlopRate peak_rate(const GpuProfile& gpu, Precision precision) {
  return rates_of(gpu, matrix_dtype(gpu, precision)).peak.value;
}

namespace {

/// fp32 operations that a multiprocessor begins at once. Source: CUDA C++ Programming Guide, arithmetic
/// instructions, results per clock cycle per multiprocessor, by compute capability.
double lanes_of(int capability) {
  constexpr std::array with_64{60, 70, 72, 75, 80};
  return std::ranges::find(with_64, capability) == with_64.end() ? 128 : 64;
}

/// Values that are not of this GPU are those of an H100 SXM5, whose kernels the rates were measured with.
OpTime rated_time(const GpuProfile& gpu, Dtype dtype, const Op& op) {
  constexpr Bandwidth h100_bandwidth{3.35e12};
  constexpr FlopRate h100_single{67e12};
  constexpr Bytes cache{50e6};
  constexpr double free_in_cache = 0.1;
  constexpr double most_of_bandwidth = 0.9;
  const KernelRate& rate = *op.rate;
  const Bytes each = op.bytes / op.launches;
  const Bandwidth bandwidth = gpu.memory.bandwidth.value;
  // Multiprocessors times their clock: the fp32 peak without the lanes of a multiprocessor.
  const double lanes = lanes_of(compute_capability(gpu)) / lanes_of(90);
  const Bandwidth issued = h100_bandwidth * (rates_of(gpu, Dtype::fp32).peak.value / h100_single / lanes);
  Seconds time;
  if (rate.limit == KernelLimit::matrix || rate.limit == KernelLimit::single) {
    const Dtype type = rate.limit == KernelLimit::matrix ? dtype : Dtype::fp32;
    time = rate.fixed + op.flops / op.launches / (rate.share * rates_of(gpu, type).peak.value);
  } else if (rate.first > Bytes()) {
    const Bytes first = std::min(each, rate.first);
    time = rate.fixed + first / (rate.first_share * issued) + (each - first) / (rate.share * bandwidth);
  } else {
    const Bandwidth reached = rate.limit == KernelLimit::memory
                                  ? rate.share * bandwidth
                                  : std::min(rate.share * issued, most_of_bandwidth * bandwidth);
    const Bytes moved = each - free_in_cache * std::min(each, cache);
    time = rate.per_row > Seconds() ? std::max(rate.fixed + op.rows * rate.per_row, each / reached)
                                    : rate.fixed + moved / reached;
  }
  return {op.launches * time, ComputeSource::fitted};
}

int multiprocessors_of(const GpuProfile& gpu) { return gpu.sms ? gpu.sms->value : 132; }

/// A measured time of the same shape, otherwise that of tiles.
OpTime product_time(const GpuProfile& gpu, Dtype dtype, const Op& op) {
  const GemmShape& shape = std::get<GemmShape>(op.shape);
  if (const GemmKernel* kernel = find_product(gpu.kernel_table, dtype, shape))
    return {kernel->duration, kernel->is_derived ? ComputeSource::fitted : ComputeSource::measured};
  const FlopRate peak = rates_of(gpu, dtype).peak.value;
  const Multiprocessors gpu_of{
      .number = multiprocessors_of(gpu), .peak = peak, .bandwidth = gpu.memory.bandwidth.value};
  const bool is_half = dtype == Dtype::fp16 || dtype == Dtype::bf16 || is_narrow(dtype);
  return {tiled_time(gpu_of, shape, Bytes(is_half ? 2 : 4), *op.product,
                     op.phase == Phase::backward && op.role != OpRole::recompute),
          ComputeSource::fitted};
}

/// The work of an op; of experts whose products have a rate of the profile, in the tiles of each.
Work work_of_product(const GpuProfile& gpu, const Op& op) {
  const auto* shape = std::get_if<GemmShape>(&op.shape);
  const bool are_experts = shape != nullptr && op.launches > 1 && op.launches == shape->batch;
  if (!are_experts) return {op.flops, op.bytes};
  return {work_in_tiles(*shape, multiprocessors_of(gpu)) * op.flops, op.bytes};
}

OpTime computed_time(const GpuProfile& gpu, Precision precision, const Op& op, Layout layout) {
  const Dtype fastest = matrix_dtype(gpu, precision);
  // Scales of blocks change no rate of the 8-bit units, whose kernels were measured.
  const Dtype narrow = dtype_of(precision, op);
  const Dtype dtype = !is_narrow(fastest) ? fastest : narrow == Dtype::mxfp8 ? Dtype::fp8 : narrow;
  if (op.rate) return rated_time(gpu, dtype, op);
  const Work work{op.flops, op.bytes};
  switch (op.kind) {
    case OpKind::conv_forward:
    case OpKind::conv_dgrad:
    case OpKind::conv_wgrad: {
      const auto* shape = std::get_if<ConvShape>(&op.shape);
      if (shape == nullptr) return general_time(gpu, dtype, work);
      return fastest_conv_time(gpu, {op.kind, dtype, known_layout(gpu, dtype, layout), *shape}, work);
    }
    case OpKind::gemm:
      if (op.product) return product_time(gpu, dtype, op);
      return gemm_time(gpu, dtype, op.shape, work_of_product(gpu, op));
    case OpKind::attention:
      return attention_time(gpu, dtype, op);
    case OpKind::measured:
    case OpKind::host:
      throw InputError("op '" + op.layer + "' is of kind '" + std::string(config::name_of(op.kind)) +
                           "' and has no duration",
                       "give its duration_s, or another kind with flops and bytes");
    default:
      return vector_time(gpu, op, dtype, layout);
  }
}

}  // namespace

OpTime op_time(const GpuProfile& gpu, Precision precision, const Op& op, Layout layout) {
  if (op.duration) return {*op.duration, op.source.value_or(ComputeSource::measured)};
  const auto computed = [&] { return computed_time(gpu, precision, op, layout); };
  if (!gpu.known_times) return computed();
  return gpu.known_times->times.get({.precision = precision,
                                     .layout = layout,
                                     .kind = op.kind,
                                     .in_8_bits = op.in_8_bits,
                                     .phase = op.product ? op.phase : Phase::forward,
                                     .rate = op.rate,
                                     .product = op.product,
                                     .rows = op.rows,
                                     .launches = op.launches,
                                     .shape = op.shape,
                                     .flops = op.flops,
                                     .bytes = op.bytes},
                                    computed);
}

std::size_t TimedOpHash::operator()(const TimedOp& op) const {
  // shapes with the same work are rare
  return hash_of_all(op.precision, op.layout, op.kind, op.flops.si(), op.bytes.si());
}

void keep_op_times(GpuProfile& gpu) { gpu.known_times = std::make_shared<OpTimeMemo>(); }

}  // namespace trainyard
