#include "calibration/fit_profile.hpp"

#include "calibration/fit_curves.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr std::array dtypes{Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8};
constexpr std::array conv_passes{OpKind::conv_forward, OpKind::conv_dgrad, OpKind::conv_wgrad};

// Non-const versions of curves.hpp's functions, to change a profile.
MatrixRates* find_rates(GpuProfile& gpu, Dtype dtype) {
  return const_cast<MatrixRates*>(find_rates(std::as_const(gpu), dtype));
}
Sourced<ConvFit>& fit_of(ConvPasses& passes, OpKind pass) {
  return const_cast<Sourced<ConvFit>&>(fit_of(std::as_const(passes), pass));
}

/// A profile while it is fitted.
struct Fitting {
  FittedProfile result;
  const std::map<std::string, std::string>& sources;
  std::size_t fewest;

  template <class T>
  void set(Sourced<T>& figure, T value, const std::string& group, std::size_t kernels) {
    const auto source = sources.find(group);
    figure = {value, Provenance::fitted, source == sources.end() ? group : source->second};
    result.fitted[group] = static_cast<int>(kernels);
  }
  [[nodiscard]] Bandwidth bandwidth() const { return result.gpu.memory.bandwidth.value; }
};

/// The kernels of each group with at least `fewest` of them.
template <class Kernel>
std::map<std::string, std::vector<Kernel>> groups_of(const std::vector<Kernel>& kernels, std::size_t fewest) {
  std::map<std::string, std::vector<Kernel>> groups;
  for (const Kernel& kernel : kernels) groups[group_of(kernel)].push_back(kernel);
  std::erase_if(groups, [&](const auto& group) { return group.second.size() < fewest; });
  return groups;
}

Sample sample_of(const VectorKernel& kernel) { return {{Flops(), kernel.bytes}, kernel.duration}; }

/// A roofline alone, without the figures that only many products determine.
GemmCurve fit_simple_product(const std::vector<ProductSample>& products, const Limits& limits) {
  std::vector<Sample> samples;
  for (const ProductSample& product : products) samples.push_back(product.sample);
  const Roofline fit = fit_roofline(samples, limits);
  return {fit.efficiency, fit.bandwidth_fraction, fit.t0};
}

void fit_gemm(Fitting& fitting, Dtype dtype, const MeasuredKernels& measured) {
  MatrixRates* rates = find_rates(fitting.result.gpu, dtype);
  if (rates == nullptr) return;
  std::vector<ProductSample> samples;
  for (const GemmKernel& kernel : measured.kernels.gemms) {
    if (kernel.dtype != dtype) continue;
    samples.push_back({{work_of(kernel.shape, dtype), kernel.duration}, kernel.shape.k});
  }
  if (samples.size() < fitting.fewest) return;
  const Limits limits{rates->peak.value, fitting.bandwidth()};
  const bool is_detailed = measured.detailed.contains(dtype);
  rates->gemm.emplace();
  fitting.set(*rates->gemm, is_detailed ? fit_product(samples, limits) : fit_simple_product(samples, limits),
              group_of(GemmKernel{dtype, {}, {}}), samples.size());
}

/// The products of calls that cast their input: the rest of each call's time.
void add_derived_products(KernelTable& table, const std::vector<CastingCall>& calls, const CastFit& cast) {
  constexpr double least_of_call = 0.05;  // where the cast was faster than its fit
  for (const auto& [product] : calls) {
    GemmKernel kernel = product;
    kernel.duration =
        std::max(product.duration - cast_time(cast, product.shape), least_of_call * product.duration);
    kernel.is_derived = true;
    table.gemms.push_back(kernel);
  }
  std::ranges::sort(table.gemms, {},
                    [](const GemmKernel& kernel) { return std::pair(kernel.dtype, kernel.shape); });
}

void fit_calls(Fitting& fitting, const MeasuredKernels& measured) {
  MatrixRates* rates = find_rates(fitting.result.gpu, Dtype::fp8);
  if (rates == nullptr || measured.calls.size() < fitting.fewest || !measured.detailed.contains(Dtype::fp8))
    return;
  std::vector<CastingSample> samples;
  for (const auto& [product] : measured.calls) samples.push_back({product.shape, product.duration});
  const MatrixRates* other = find_rates(fitting.result.gpu, Dtype::bf16);
  const GemmCurve in_16_bits = other != nullptr && other->gemm ? other->gemm->value : GemmCurve();
  const CastingFit fit = fit_casting(samples, {rates->peak.value, fitting.bandwidth()}, in_16_bits);
  rates->gemm.emplace();
  fitting.set(*rates->gemm, fit.product, group_of(measured.calls.front()), samples.size());
  fitting.result.cast = fit.cast;
  add_derived_products(fitting.result.gpu.kernel_table, measured.calls, fit.cast);
}

void fit_attention_passes(Fitting& fitting, Dtype dtype, const MeasuredKernels& measured) {
  MatrixRates* rates = find_rates(fitting.result.gpu, dtype);
  if (rates == nullptr) return;
  std::vector<AttentionSample> samples;
  for (const AttentionPass& pass : measured.attention) {
    if (pass.dtype != dtype) continue;
    const double products = 2.0 * pass.shape.batch * pass.shape.m * pass.shape.n * pass.shape.k;
    samples.push_back({{{Flops(products), pass.bytes}, pass.duration}, pass.shape.n});
  }
  const bool is_part = fitting.fewest < fewest_kernels;
  if (samples.size() < (is_part ? fewest_attention_passes / 2 : fewest_attention_passes)) return;
  const double moved = rates->gemm ? rates->gemm->value.bandwidth_fraction
                                   : fitting.result.gpu.roofline.value.bandwidth_fraction;
  const AttentionFit fit = fit_attention(samples, {rates->peak.value, moved * fitting.bandwidth()});
  fitting.set(rates->attention.emplace(), four_digits(attention_of_step * fit.efficiency),
              group_of(AttentionPass{dtype, {}, {}, {}}), samples.size());
  const std::string same = "the same passes, all forward; backward assumed alike";
  rates->attention_tokens = Sourced<double>{fit.tokens, Provenance::fitted, same};
  rates->attention_t0 = Sourced<Seconds>{fit.t0, Provenance::fitted, same};
  rates->attention_key_time = Sourced<Seconds>{fit.key_time, Provenance::fitted, same};
}

template <class T>
std::optional<Sourced<T>> as_in_bf16(const std::optional<Sourced<T>>& figure) {
  if (!figure) return std::nullopt;
  return Sourced<T>{figure->value, Provenance::assumed, "as in bf16: " + figure->source};
}

/// fp16 runs on the units of bf16, at the same peak: figures measured only in bf16 are assumed for fp16, too.
void fill_fp16(Fitting& fitting) {
  MatrixUnits& units = fitting.result.gpu.matrix;
  if (!units.fp16 || !units.bf16 || units.fp16->peak.value != units.bf16->peak.value) return;
  const auto has_fitted = [&](const char* group) { return fitting.result.fitted.contains(group); };
  const auto is_guess = [](const auto& figure) { return !figure || figure->is_assumed(); };
  MatrixRates& fp16 = *units.fp16;
  const MatrixRates& bf16 = *units.bf16;
  if (has_fitted("gemm bf16") && !has_fitted("gemm fp16") && is_guess(fp16.gemm))
    fp16.gemm = as_in_bf16(bf16.gemm);
  if (!has_fitted("attention bf16") || has_fitted("attention fp16") || !is_guess(fp16.attention)) return;
  fp16.attention = as_in_bf16(bf16.attention);
  fp16.attention_tokens = as_in_bf16(bf16.attention_tokens);
  fp16.attention_t0 = as_in_bf16(bf16.attention_t0);
  fp16.attention_key_time = as_in_bf16(bf16.attention_key_time);
}

/// The fits of one layout, as an assumption about the other.
ConvPasses in_other_layout(ConvPasses known) {
  for (const OpKind pass : conv_passes) {
    Sourced<ConvFit>& figure = fit_of(known, pass);
    if (figure.value.bandwidth_fraction > 0) {
      figure = {figure.value, Provenance::assumed, "as in nchw, until it is measured"};
    }
  }
  return known;
}

void fit_conv_pass(Fitting& fitting, const ConvKernel& group, const std::vector<ConvKernel>& kernels) {
  MatrixRates* rates = find_rates(fitting.result.gpu, group.dtype);
  if (rates == nullptr) return;
  std::vector<ConvSample> samples;
  for (const ConvKernel& kernel : kernels) {
    if (kernel.pass == group.pass && kernel.dtype == group.dtype && kernel.layout == group.layout) {
      samples.push_back({{work_of(kernel.shape, kernel.dtype), kernel.duration}, class_of(kernel.shape)});
    }
  }
  if (samples.size() < fitting.fewest) return;
  auto& fits = group.layout == Layout::nhwc ? rates->conv_nhwc : rates->conv;
  if (!fits) fits = rates->conv ? in_other_layout(*rates->conv) : ConvPasses();
  fitting.set(fit_of(*fits, group.pass), fit_conv(samples, {rates->peak.value, fitting.bandwidth()}),
              group_of(group), samples.size());
}

/// A pass without figures in the specification and the recordings is assumed to equal one that has them.
void fill_missing_passes(std::optional<ConvPasses>& fits) {
  if (!fits) return;
  const auto is_missing = [&](OpKind pass) { return fit_of(*fits, pass).value.bandwidth_fraction <= 0; };
  const OpKind known = *std::find_if_not(conv_passes.begin(), conv_passes.end(), is_missing);
  const ConvFit value = fit_of(*fits, known).value;
  for (const OpKind pass : conv_passes) {
    if (!is_missing(pass)) continue;
    fit_of(*fits, pass) = {value, Provenance::assumed,
                           "as " + std::string(config::name_of(known)) + ", until it is measured"};
  }
}

/// The figure of a group of vector ops.
Sourced<double>& fraction_of(VectorRates& rates, const std::string& group) {
  if (group == "softmax_wide") return rates.softmax_wide ? *rates.softmax_wide : rates.softmax_wide.emplace();
  for (const auto& name : config::Names<OpKind>::table) {
    if (group_of(VectorKernel{name.value, {}, {}}) == group) {
      return const_cast<Sourced<double>&>(bandwidth_fraction(std::as_const(rates), name.value, 0));
    }
  }
  return rates.elementwise;
}

/// Fits the groups; returns the fixed time of each.
std::map<std::string, Seconds> fit_vectors(Fitting& fitting, const std::vector<VectorKernel>& kernels) {
  std::map<std::string, Seconds> fixed;
  for (const auto& [group, members] : groups_of(kernels, fitting.fewest)) {
    std::vector<Sample> samples;
    for (const VectorKernel& kernel : members) samples.push_back(sample_of(kernel));
    const VectorFit fit = fit_vector(samples, fitting.bandwidth());
    fitting.set(fraction_of(fitting.result.gpu.vector, group), fit.bandwidth_fraction, group, samples.size());
    fixed[group] = fit.t0;
  }
  return fixed;
}

void fit_dispatched_vectors(Fitting& fitting, const std::vector<DispatchedKernel>& kernels) {
  for (const auto& [group, members] : groups_of(kernels, fitting.fewest)) {
    std::vector<DispatchedSample> samples;
    for (const auto& [kernel, call] : members) samples.push_back({sample_of(kernel), call});
    const DispatchFit fit = fit_dispatched(samples, fitting.bandwidth());
    fitting.set(fraction_of(fitting.result.gpu.vector, group), fit.vector.bandwidth_fraction, group,
                samples.size());
    fitting.result.dispatched[group] = fit;
  }
}

/// One fixed time for all vector ops: the median over groups.
void set_vector_t0(GpuProfile& gpu, const std::map<std::string, Seconds>& fixed) {
  if (fixed.empty()) return;
  std::vector<Seconds> times;
  for (const auto& [group, t0] : fixed) times.push_back(t0);
  std::sort(times.begin(), times.end());
  gpu.vector.t0 = {times[times.size() / 2], Provenance::fitted, "median of the vector ops' fits"};
}

}  // namespace

FittedProfile fit_profile(const GpuProfile& specification, const MeasuredKernels& measured,
                          const std::map<std::string, std::string>& sources, std::size_t fewest) {
  Fitting fitting{{specification, {}, {}, {}}, sources, fewest};
  FittedProfile& result = fitting.result;
  result.gpu.kernel_table = measured.kernels;
  for (const Dtype dtype : dtypes) {
    fit_gemm(fitting, dtype, measured);
    fit_attention_passes(fitting, dtype, measured);
    for (const Layout layout : {Layout::nchw, Layout::nhwc}) {
      for (const OpKind pass : conv_passes) {
        fit_conv_pass(fitting, {pass, dtype, layout, {}, {}}, measured.kernels.convs);
      }
    }
    if (MatrixRates* rates = find_rates(result.gpu, dtype)) {
      fill_missing_passes(rates->conv);
      fill_missing_passes(rates->conv_nhwc);
    }
  }
  fill_fp16(fitting);
  fit_calls(fitting, measured);
  fit_dispatched_vectors(fitting, measured.dispatched);
  const auto fixed = fit_vectors(fitting, measured.kernels.vectors);  // more precise than dispatched ones
  for (const auto& [group, t0] : fixed) result.dispatched.erase(group);
  set_vector_t0(result.gpu, fixed);
  return result;
}

}  // namespace trainyard
