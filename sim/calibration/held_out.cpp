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

void add(Errors& errors, const Predictors& predictors, Precision precision, const Op& op, Layout layout,
         Seconds measured) {
  const auto error = [&](const GpuProfile& gpu) {
    return std::abs(op_time(gpu, precision, op, layout).duration / measured - 1);
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
    Op op = op_of(OpKind::gemm, kernel.shape, work_of(kernel.shape, kernel.dtype));
    op.in_8_bits = kernel.dtype == Dtype::fp8;
    add(errors[group_of(kernel)], predictors, precision_of(kernel.dtype), op, Layout::nchw, kernel.duration);
  }
}

void add_vector_kernels(ErrorsByGroup& errors, const Predictors& predictors,
                        const std::vector<VectorKernel>& measured) {
  for (const VectorKernel& kernel : measured) {
    const Op op = op_of(kernel.kind, VectorShape{0, kernel.row}, {Flops(), kernel.bytes});
    add(errors[group_of(kernel)], predictors, Precision::fp32, op, Layout::nchw, kernel.duration);
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

std::vector<HeldOutError> held_out_errors(const GpuProfile& specification, const MeasuredKernels& measured) {
  constexpr std::size_t fewest_in_fold = 3;
  const std::map<std::string, int> groups = fit_profile(specification, measured).fitted;
  ErrorsByGroup errors;
  std::set<std::string> unfitted;  // in some fold: it would judge the specification
  for (int fold = 0; fold < folds; ++fold) {
    const FittedProfile fitted =
        fit_profile(specification, part_of(measured, fold, false), {}, fewest_in_fold);
    for (const auto& [group, count] : groups) {
      if (!fitted.fitted.contains(group)) unfitted.insert(group);
    }
    const MeasuredKernels held_out = part_of(measured, fold, true);
    const Predictors both = predictors(fitted.gpu);
    add_matrix_kernels(errors, both, held_out.kernels);
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
