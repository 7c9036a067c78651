#pragma once
// The work of an operator by the operands that its profile recorded: its shape, the type and the layout of
// its values, and the bytes that it moves.

#include "compute/dtype.hpp"
#include "imports/op_names.hpp"
#include "imports/profile.hpp"
#include "workload/trace.hpp"

#include <optional>

namespace trainyard {

struct OpWork {
  Shape shape;
  Dtype dtype{};  ///< of the first operand; tf32 if kernels say that matrix units round to it
  Layout layout = Layout::nchw;
  Flops flops;
  Bytes bytes;
};

/// The type of the first operand; of a matrix product or convolution tf32 if its kernels say so. Nothing if
/// types were not recorded, or it is no floating-point type that GPU profiles have.
std::optional<Dtype> type_of(const Profile& profile, const ProfileEvent& op, OpKind kind,
                             const KernelHints& hints);

/// The layout of a convolution's values: by its strides, else by the names of its kernels.
Layout layout_of(const Profile& profile, const ProfileEvent& op, const KernelHints& hints);

/// The input of op_time() for an operator of this kind and phase. Bytes are counted as those of models' ops
/// (workload/make_trace.hpp): operands and result of matrix products and convolutions once each, passes over
/// the input of normalisations and of softmax, all operands and the result of element-wise ops. Nothing if
/// operands were not recorded, or of kinds whose bytes do not follow from them (pooling, attention, the
/// gradient of an embedding).
std::optional<OpWork> work_of(const Profile& profile, const ProfileEvent& op, OpKind kind, Phase phase,
                              const KernelHints& hints);

}  // namespace trainyard
