#include "imports/op_work.hpp"

#include "compute/work.hpp"
#include "imports/op_names.hpp"
#include "imports/op_shapes.hpp"
#include "imports/operands.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

bool is_convolution(OpKind kind) {
  return kind == OpKind::conv_forward || kind == OpKind::conv_dgrad || kind == OpKind::conv_wgrad;
}

std::optional<Dtype> floating_type(std::string_view name) {
  if (name == "float" || name == "Float") return Dtype::fp32;
  if (name == "c10::Half" || name == "Half") return Dtype::fp16;
  if (name == "c10::BFloat16" || name == "BFloat16") return Dtype::bf16;
  return std::nullopt;
}

/// The types of the operands; empty if they were not recorded.
std::vector<std::string> types_of(const Profile& profile, const ProfileEvent& op) {
  if (op.operands == no_event) return {};
  return operand_texts(profile.texts[profile.operands[op.operands].types])
      .value_or(std::vector<std::string>());
}

/// All tensors that an element-wise op reads, and the largest of them once more for its result. Nothing if
/// the result is of another type than they are.
std::optional<Bytes> elementwise_bytes(const Profile& profile, const ProfileEvent& op) {
  const std::string_view name = plain_name(profile.texts[op.name]);
  const bool converts = name == "to" || name.starts_with("to.") || name.starts_with("_to");
  if (converts || op.operands == no_event) return std::nullopt;
  const auto shapes = operand_shapes(profile.texts[profile.operands[op.operands].dims]);
  const std::vector<std::string> types = types_of(profile, op);
  if (!shapes) return std::nullopt;
  Bytes all;
  Bytes largest;
  for (std::size_t i = 0; i < std::min(shapes->size(), types.size()); ++i) {
    const auto size = bytes_of_type(types[i]);
    if (!size || (*shapes)[i].size() != 1) continue;
    const Bytes bytes(values_of((*shapes)[i].front()) * *size);
    all += bytes;
    largest = std::max(largest, bytes);
  }
  if (all <= Bytes()) return std::nullopt;
  // a copy's and a filling's first operand is its result
  const bool names_result =
      name.starts_with("copy_") || name.starts_with("fill_") || name.starts_with("zero_");
  return names_result ? all : all + largest;
}

}  // namespace

std::optional<Dtype> type_of(const Profile& profile, const ProfileEvent& op, OpKind kind,
                             const KernelHints& hints) {
  const std::vector<std::string> types = types_of(profile, op);
  if (types.empty()) return std::nullopt;
  const auto type = floating_type(types.front());
  const bool is_matrix_op = is_convolution(kind) || kind == OpKind::gemm;
  return type == Dtype::fp32 && hints.is_tf32 && is_matrix_op ? Dtype::tf32 : type;
}

Layout layout_of(const Profile& profile, const ProfileEvent& op, const KernelHints& hints) {
  const Layout by_kernels = hints.is_nhwc && !hints.changes_layout ? Layout::nhwc : Layout::nchw;
  return layout_of(profile, op).value_or(by_kernels);
}

std::optional<OpWork> work_of(const Profile& profile, const ProfileEvent& op, OpKind kind, Phase phase,
                              const KernelHints& hints) {
  const auto shape = shape_of(profile, op, kind);
  const auto type = type_of(profile, op, kind, hints);
  if (!shape || !type) return std::nullopt;
  OpWork result{.shape = *shape, .dtype = *type, .flops = {}, .bytes = {}};
  if (const auto* conv = std::get_if<ConvShape>(&*shape)) {
    const Work work = work_of(*conv, *type);
    result.layout = layout_of(profile, op, hints);
    result.flops = work.flops;
    result.bytes = work.bytes;
    return result;
  }
  if (const auto* gemm = std::get_if<GemmShape>(&*shape)) {
    const Work work = work_of(*gemm, *type);
    result.flops = work.flops;
    result.bytes = work.bytes;
    return result;
  }
  const double values = std::get<VectorShape>(*shape).elements;
  if (const auto passes = passes_over_values(kind, phase)) {
    result.bytes = *passes * values * size_of(*type);
    return result;
  }
  const auto bytes = kind == OpKind::elementwise ? elementwise_bytes(profile, op) : std::nullopt;
  if (!bytes) return std::nullopt;
  result.bytes = *bytes;
  return result;
}

}  // namespace trainyard
