#include "calibration/held_out.hpp"

#include "calibration/fit_curves.hpp"
#include "calibration/fit_profile.hpp"
#include "compute/curves.hpp"
#include "compute/op_time.hpp"
#include "units/statistics.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace trainyard {
namespace {

/// predicted / measured - 1| for the kernels of a group: corrected by the nearest kernels, and from the curve
/// alone.
struct Errors {
  std::vector<double> with_nearest, by_curve;
};
using ErrorsByGroup = std::map<std::string, Errors>;

/// A profile, and the same without its measured kernels.
struct Predictors {
  GpuProfile with_nearest, by_curve;
};

Predictors predictors(const GpuProfile& gpu) {
  GpuProfile by_curve = gpu;
  by_curve.kernel_table = {};
  return {gpu, std::move(by_curve)};
}

/// The first precision whose matrix units have this type.
Precision precision_of(Dtype dtype) {
  const auto type_of = [](const auto& name) { return dtype_of(name.value); };
  return std::ranges::find(config::Names<Precision>::table, dtype, type_of)->value;
}

Op op_of(OpKind kind, const Shape& shape, const Work& work) {
  Op op;
  op.kind = kind;
  op.shape = shape;
  op.flops = work.flops;
  op.bytes = work.bytes;
  return op;
}

Op op_of(const GemmKernel& kernel) {
  Op op = op_of(OpKind::gemm, kernel.shape, work_of(kernel.shape, kernel.dtype));
  op.in_8_bits = is_narrow(kernel.dtype);
  return op;
}

/// `before`: the part of the measured time that is not the op's.
void add(Errors& errors, const Predictors& predictors, Precision precision, const Op& op, Layout layout,
         Seconds measured, Seconds before = {}) {
  const auto error = [&](const GpuProfile& gpu) {
    return std::abs((before + op_time(gpu, precision, op, layout).duration) / measured - 1);
  };
  errors.with_nearest.push_back(error(predictors.with_nearest));
  errors.by_curve.push_back(error(predictors.by_curve));
}

void add_matrix_kernels(ErrorsByGroup& errors, const Predictors& predictors, const KernelTable& measured) {
  const auto has_unit = [&](Dtype dtype) { return find_rates(predictors.by_curve, dtype) != nullptr; };
  for (const ConvKernel& kernel : measured.convs) {
    if (!has_unit(kernel.dtype)) continue;
    const Op op = op_of(kernel.pass, kernel.shape, work_of(kernel.shape, kernel.dtype));
    add(errors[group_of(kernel)], predictors, precision_of(kernel.dtype), op, kernel.layout, kernel.duration);
  }
  for (const GemmKernel& kernel : measured.gemms) {
    if (!has_unit(kernel.dtype)) continue;
    add(errors[group_of(kernel)], predictors, precision_of(kernel.dtype), op_of(kernel), Layout::nchw,
        kernel.duration);
  }
}

/// Whole calls: the cast, and the product as a simulation has it.
void add_calls(ErrorsByGroup& errors, const Predictors& predictors, const FittedProfile& fitted,
               const std::vector<CastingCall>& calls) {
  if (!fitted.cast) return;
  for (const CastingCall& call : calls) {
    const auto& [product] = call;
    add(errors[group_of(call)], predictors, precision_of(product.dtype), op_of(product), Layout::nchw,
        product.duration, cast_time(*fitted.cast, product.shape));
  }
}

/// Forward passes, with the efficiency that the profile's stands for there.
void add_attention(ErrorsByGroup& errors, const GpuProfile& gpu, const std::vector<AttentionPass>& passes) {
  for (const AttentionPass& pass : passes) {
    if (find_rates(gpu, pass.dtype) == nullptr || !find_rates(gpu, pass.dtype)->attention) continue;
    GpuProfile forward = gpu;
    const_cast<MatrixRates*>(find_rates(forward, pass.dtype))->attention->value /= attention_of_step;
    const GemmShape& shape = pass.shape;
    const double products = 2.0 * shape.batch * shape.m * shape.n * shape.k;
    const Op op = op_of(OpKind::attention, shape, {Flops(products), pass.bytes});
    add(errors[group_of(pass)], {forward, forward}, precision_of(pass.dtype), op, Layout::nchw,
        pass.duration);
  }
}

void add_vector_kernels(ErrorsByGroup& errors, const Predictors& predictors,
                        const std::vector<VectorKernel>& measured) {
  for (const VectorKernel& kernel : measured) {
    const Op op = op_of(kernel.kind, VectorShape{0, kernel.row}, {Flops(), kernel.bytes});
    const Dtype dtype = kernel.dtype.value_or(Dtype::fp32);
    if (find_rates(predictors.by_curve, dtype) == nullptr) continue;
    add(errors[group_of(kernel)], predictors, precision_of(dtype), op, kernel.layout.value_or(Layout::nchw),
        kernel.duration);
  }
}

/// From the group's curve and the framework's dispatch, without correction: such a recording has no kernels
/// alone. Only for calls longer than their dispatch, since the kernel of a shorter one cannot be seen.
void add_dispatched(ErrorsByGroup& errors, const FittedProfile& fitted,
                    const std::vector<DispatchedKernel>& measured) {
  for (const auto& [kernel, call] : measured) {
    const std::string group = group_of(kernel);
    const auto fit = fitted.dispatched.find(group);
    if (fit == fitted.dispatched.end()) continue;
    const Bandwidth bandwidth = fitted.gpu.memory.bandwidth.value;
    const Seconds predicted = dispatched_time(fit->second, call, kernel.bytes, bandwidth);
    const auto dispatch = fit->second.dispatch.find(call);
    if (dispatch != fit->second.dispatch.end() && predicted <= dispatch->second) continue;
    const double error = std::abs(predicted / kernel.duration - 1);
    errors[group].with_nearest.push_back(error);
    errors[group].by_curve.push_back(error);
  }
}

std::vector<HeldOutError> summary(const ErrorsByGroup& errors) {
  std::vector<HeldOutError> rows;
  for (const auto& [group, e] : errors) {
    rows.push_back({.kernels = group,
                    .count = static_cast<int>(e.with_nearest.size()),
                    .mape = four_digits(mean(e.with_nearest)),
                    .median = four_digits(quantile(e.with_nearest, 0.5)),
                    .p90 = four_digits(quantile(e.with_nearest, 0.9)),
                    .curve_mape = four_digits(mean(e.by_curve))});
  }
  return rows;
}

}  // namespace

std::vector<HeldOutError> held_out_errors(const GpuProfile& specification, const MeasuredKernels& measured,
                                          std::size_t keep) {
  constexpr std::size_t fewest_in_fold = 3;
  const std::map<std::string, int> groups = fit_profile(specification, measured).fitted;
  ErrorsByGroup errors;
  std::set<std::string> unfitted;  // in some fold: it would judge the specification
  for (int fold = 0; fold < folds; ++fold) {
    FittedProfile fitted = fit_profile(specification, part_of(measured, fold, false), {}, fewest_in_fold);
    fitted.gpu.kernel_table.gemms = spread(fitted.gpu.kernel_table.gemms, keep);
    for (const auto& [group, count] : groups) {
      if (!fitted.fitted.contains(group)) unfitted.insert(group);
    }
    const MeasuredKernels held_out = part_of(measured, fold, true);
    const Predictors both = predictors(fitted.gpu);
    add_matrix_kernels(errors, both, held_out.kernels);
    add_calls(errors, both, fitted, held_out.calls);
    add_attention(errors, both.by_curve, held_out.attention);
    add_vector_kernels(errors, both, held_out.kernels.vectors);
    add_dispatched(errors, fitted, held_out.dispatched);
  }
  std::erase_if(errors, [&](const auto& group) {
    return !groups.contains(group.first) || unfitted.contains(group.first);
  });
  return summary(errors);
}

std::vector<HeldOutError> errors_of(const GpuProfile& gpu, const KernelTable& measured) {
  ErrorsByGroup errors;
  add_matrix_kernels(errors, predictors(gpu), measured);
  add_vector_kernels(errors, predictors(gpu), measured.vectors);
  return summary(errors);
}

}  // namespace trainyard
