#pragma once
// The shape of an operator's work by the operands that its profile recorded.

#include "imports/profile.hpp"
#include "workload/trace.hpp"

#include <optional>

namespace trainyard {

/// The shape of a convolution or a matrix product; of another operator the values of its first operand.
/// Nothing if operands were not recorded, or do not fit the operator. `kind` is that of its row.
std::optional<Shape> shape_of(const Profile& profile, const ProfileEvent& op, OpKind kind);

/// The order of the values of a convolution's input by its strides; nothing if they were not recorded.
std::optional<Layout> layout_of(const Profile& profile, const ProfileEvent& op);

/// Samples of the first convolution or embedding of a model: the size that leads its input; 0 if unknown.
int leading_size(const Profile& profile, const ProfileEvent& op);

}  // namespace trainyard
