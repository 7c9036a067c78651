#include "imports/predictable_trace.hpp"

#include "compute/op_time.hpp"
#include "imports/op_work.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <map>

namespace trainyard {
namespace {

std::optional<OpWork> work_of_row(const Profile& profile, const ProfileRow& row) {
  if (row.op == no_event) return std::nullopt;
  return work_of(profile, profile.events[row.op], row.kind, row.phase, row.hints);
}

bool is_matrix_shape(const Shape& shape) {
  return std::holds_alternative<ConvShape>(shape) || std::holds_alternative<GemmShape>(shape);
}

/// The precision of a training whose matrix units get operands of this type: parameters may be wider.
Precision precision_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return Precision::fp32;
    case Dtype::tf32:
      return Precision::tf32;
    case Dtype::fp16:
      return Precision::amp;
    case Dtype::bf16:
      return Precision::amp_bf16;
    case Dtype::fp8:
      return Precision::fp8;
    case Dtype::mxfp8:
      return Precision::mxfp8;
    case Dtype::nvfp4:
      return Precision::nvfp4;
  }
  return Precision::fp32;
}

}  // namespace

MatrixFormat matrix_format_of(const Profile& profile, const ImportedTrace& imported) {
  std::map<Dtype, std::int64_t> of_type;
  std::map<Layout, std::int64_t> of_layout;
  for (const ProfileRow& row : imported.rows) {
    const auto work = work_of_row(profile, row);
    if (!work) {
      // without operands the names of its kernels tell
      const bool is_convolution = row.kind == OpKind::conv_forward || row.kind == OpKind::conv_dgrad ||
                                  row.kind == OpKind::conv_wgrad;
      if (row.hints.is_tf32 && (is_convolution || row.kind == OpKind::gemm)) of_type[Dtype::tf32] += row.time;
      if (row.hints.is_nhwc && !row.hints.changes_layout && is_convolution)
        of_layout[Layout::nhwc] += row.time;
      continue;
    }
    if (!is_matrix_shape(work->shape)) continue;
    of_type[work->dtype] += row.time;
    if (std::holds_alternative<ConvShape>(work->shape)) of_layout[work->layout] += row.time;
  }
  const auto most = [](const auto& times) {
    return std::ranges::max_element(times, {}, [](const auto& one) { return one.second; });
  };
  MatrixFormat format;
  if (!of_type.empty()) format.precision = precision_of(most(of_type)->first);
  if (!of_layout.empty()) format.layout = most(of_layout)->first;
  return format;
}

PredictableTrace predictable_trace(const Profile& profile, const ImportedTrace& imported,
                                   Precision precision) {
  PredictableTrace result{.trace = imported.trace, .is_computed = {}};
  assert(imported.rows.size() == imported.trace.ops.size());
  result.is_computed.assign(result.trace.ops.size(), false);
  for (std::size_t i = 0; i < result.trace.ops.size(); ++i) {
    const auto work = work_of_row(profile, imported.rows[i]);
    if (!work) continue;
    if (is_matrix_shape(work->shape) && work->dtype != dtype_of(precision)) {
      ++result.of_other_type;
      continue;
    }
    Op& op = result.trace.ops[i];
    op.shape = work->shape;
    op.flops = work->flops;
    op.bytes = work->bytes;
    op.duration.reset();
    op.source.reset();
    result.is_computed[i] = true;
  }
  return result;
}

}  // namespace trainyard
