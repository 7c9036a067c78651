#pragma once
// Names that other tools give to the content of a trace: PyTorch's operators, kernels and collectives.

#include "collectives/operation.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string_view>

namespace trainyard {

/// Whether an operator is the backward of another one by its name: "MmBackward0", in 2021 "MmBackward".
bool ends_with_backward(std::string_view name);

/// Whether a range is one of the backward pass by its name: as above, or one in which autograd runs such an
/// operator.
bool is_backward_range(std::string_view name);

/// Whether a range is an update, or fills the gradients with zeros before one.
bool is_optimizer_range(std::string_view name);
bool is_zero_grad_range(std::string_view name);

/// The kind of an operator's work, "aten::conv2d"; OpKind::measured for one of which only the duration is
/// known. The passes of a convolution's gradient are told apart by kernels.
OpKind kind_of_operator(std::string_view name, bool is_backward);

/// The pass of a kernel below a convolution's backward operator: conv_dgrad or conv_wgrad; nothing if its
/// name does not say it, as of a change of layout.
std::optional<OpKind> pass_of_kernel(std::string_view kernel);

/// A collective by the name of its call ("_allgather_base") or its kernel
/// ("ncclDevKernel_AllReduce_Sum_f32_RING_LL"). Nothing for messages between two ranks and for what is
/// unknown.
std::optional<Operation> operation_named(std::string_view name);

/// Whether ranges of this name have the operands of a collective: "nccl:all_reduce".
bool names_operands(std::string_view range);

/// "conv2d" of "aten::conv2d", "Addmm" of "autograd::engine::evaluate_function: AddmmBackward0".
std::string_view plain_name(std::string_view name);

/// "at::native::vectorized_elementwise_kernel" for "void at::native::vectorized_elementwise_kernel<4,
/// ...>(...)": at most 60 characters; the beginning of a name that has no such part.
std::string_view short_kernel_name(std::string_view name);

/// Hints in the names of an op's kernels: the use of matrix units and the layout of values.
struct KernelHints {
  bool is_nhwc = false, changes_layout = false, is_tf32 = false;

  void add(std::string_view kernel) {
    const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
    changes_layout = changes_layout || has("nchwToNhwc") || has("nhwcToNchw");
    is_nhwc = is_nhwc || has("nhwc");
    is_tf32 = is_tf32 || has("tf32") || has("s1688gemm");  // cuBLAS's for A100
  }
};

}  // namespace trainyard
