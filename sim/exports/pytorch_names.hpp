#pragma once
// PyTorch's and NCCL's names of the ops and collectives of a trace, for profiles that their tools read.

#include "collectives/operation.hpp"
#include "workload/trace.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// "aten::conv2d"; for kinds that PyTorch has no operator for "trainyard::measured".
std::string operator_name(const Op& op);

/// The name of the range around the op in the backward pass: "ConvolutionBackward0".
std::string backward_name(const Op& op);

/// Kind and shape: "conv_wgrad(n64 c3 h224 ...)". Layers are not in it: tools tell communication and copies
/// by words in names of kernels.
std::string kernel_name(const Op& op);

/// "Optimizer.step#SGD.step", and its operator.
std::string optimizer_range(Optimizer optimizer);
std::string optimizer_operator(Optimizer optimizer);

/// A type of values: "Float" of collectives, "float" of operands, "f32" in names of kernels.
struct ValueType {
  std::string_view of_collectives, of_operands, of_kernels;
  int bytes;
};

ValueType activation_type(Precision precision);

/// The type of the values of a reduced gradient; bytes if they do not divide its size.
ValueType collective_type(Bytes value, Precision precision, double size);

/// "allreduce", "_allgather_base": of torch.distributed.
std::string_view collective_name(Operation operation);

/// "c10d::allreduce_".
std::string collective_operator(Operation operation);

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)". `algorithm`, `protocol`: as
/// in collectives.csv.
std::string nccl_kernel(Operation operation, std::string_view type, std::string_view algorithm,
                        std::string_view protocol);

/// Lists of JSON; empty if the op's shape says nothing of its operands.
struct OperandTexts {
  std::string dims;    ///< "[[64,3,224,224],[64,3,7,7],[],[],[],[],[]]"
  std::string values;  ///< what is no tensor: strides, paddings
};

/// `table_rows`: of an embedding's table, where they are known.
OperandTexts operand_texts_of(const Op& op, const Trace& trace, std::optional<double> table_rows);

/// The rows of the table of an embedding, from the gradient that the layer's op in backward completes.
std::optional<double> table_rows(const Trace& trace, const Op& embedding);

}  // namespace trainyard
