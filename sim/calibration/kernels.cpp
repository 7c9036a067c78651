#include "calibration/kernels.hpp"

#include "compute/curves.hpp"
#include "compute/nearest.hpp"
#include "config/keys.hpp"
#include "units/fnv1a.hpp"
#include "units/text.hpp"
#include "workload/shape_text.hpp"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace trainyard {
namespace {

/// The same fold on every machine.
int fold_of_text(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return static_cast<int>((hash.value() >> 32U) % folds);
}

template <class T>
std::vector<T> part_of(const std::vector<T>& all, int fold, bool is_held_out) {
  std::vector<T> part;
  for (const T& kernel : all) {
    if ((fold_of(kernel) == fold) == is_held_out) part.push_back(kernel);
  }
  return part;
}

void append_kernels(Recording& all, const Recording& recording) {
  all.name += (all.name.empty() ? "" : ", ") + recording.name;
  all.rows.insert(all.rows.end(), recording.rows.begin(), recording.rows.end());
}

void append_dispatched(std::vector<DispatchedKernel>& all, const Recording& recording) {
  for (const RecordedKernel& row : recording.rows) {
    if (!row.kind || is_matrix(*row.kind)) continue;
    all.push_back(
        {{*row.kind, row.bytes, row.time, row_of(row)}, row.variant.substr(0, row.variant.find(' '))});
  }
}

}  // namespace

MeasuredKernels gather(const std::vector<Recording>& recordings) {
  Recording alone;
  MeasuredKernels measured;
  for (const Recording& recording : recordings) {
    if (recording.facts.is_framework_timing) {
      append_dispatched(measured.dispatched, recording);
    } else {
      append_kernels(alone, recording);
    }
  }
  measured.kernels = kernel_table(alone);
  return measured;
}

std::string group_of(const ConvKernel& kernel) {
  const std::string pass_and_type =
      std::string(config::name_of(kernel.pass)) + " " + std::string(config::name_of(kernel.dtype));
  return kernel.layout == Layout::nhwc ? pass_and_type + " nhwc" : pass_and_type;
}

std::string group_of(const GemmKernel& kernel) {
  return "gemm " + std::string(config::name_of(kernel.dtype));
}

std::string group_of(const VectorKernel& kernel) {
  const bool is_batch_norm =
      kernel.kind == OpKind::batch_norm_forward || kernel.kind == OpKind::batch_norm_backward;
  if (is_wide_softmax(kernel.kind, kernel.row)) return "softmax_wide";
  return is_batch_norm ? "batch_norm" : std::string(config::name_of(kernel.kind));
}

int fold_of(const ConvKernel& kernel) {
  ConvShape family = kernel.shape;
  family.batch = 1;
  return fold_of_text(to_string(Shape(family)));
}

int fold_of(const GemmKernel& kernel) {
  GemmShape family = kernel.shape;
  family.transpose_a = family.transpose_b = false;
  return fold_of_text(to_string(Shape(family)));
}

std::string group_of(const DispatchedKernel& kernel) { return group_of(kernel.kernel); }

int fold_of(const DispatchedKernel& kernel) { return fold_of(kernel.kernel); }

int fold_of(const VectorKernel& kernel) {
  return fold_of_text(std::to_string(std::lround(rough_log2(kernel.bytes.si()))));
}

MeasuredKernels part_of(const MeasuredKernels& all, int fold, bool is_held_out) {
  return {{part_of(all.kernels.convs, fold, is_held_out), part_of(all.kernels.gemms, fold, is_held_out),
           part_of(all.kernels.vectors, fold, is_held_out)},
          part_of(all.dispatched, fold, is_held_out)};
}

}  // namespace trainyard
