#include "exports/pytorch_names.hpp"

#include "workload/shape_text.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

bool is_named(const Op& op, std::string_view word) { return op.layer.find(word) != std::string::npos; }

/// Operator, its counterpart in backward and the range around that.
struct Names {
  std::string_view forward, backward, range;
};

constexpr Names convolution_names{"aten::conv2d", "aten::convolution_backward", "ConvolutionBackward0"};

Names names_of_elementwise(const Op& op) {
  if (is_named(op, "gelu")) return {"aten::gelu", "aten::gelu_backward", "GeluBackward0"};
  if (is_named(op, "relu")) return {"aten::relu", "aten::threshold_backward", "ReluBackward0"};
  if (is_named(op, "drop"))
    return {"aten::dropout", "aten::native_dropout_backward", "NativeDropoutBackward0"};
  if (is_named(op, "cast")) return {"aten::to", "aten::to", "ToCopyBackward0"};
  return {"aten::add", "aten::add", "AddBackward0"};
}

Names names_of_gemm(const Op& op) {
  const auto* shape = std::get_if<GemmShape>(&op.shape);
  if (shape != nullptr && shape->batch > 1) return {"aten::bmm", "aten::bmm", "BmmBackward0"};
  if (shape != nullptr && shape->transpose_b && !shape->transpose_a)
    return {"aten::linear", "aten::mm", "AddmmBackward0"};
  return {"aten::mm", "aten::mm", "MmBackward0"};
}

Names names_of(const Op& op) {
  switch (op.kind) {
    case OpKind::conv_forward:
    case OpKind::conv_dgrad:
    case OpKind::conv_wgrad:
      return convolution_names;
    case OpKind::gemm:
      return names_of_gemm(op);
    case OpKind::attention:
      return {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_backward",
              "ScaledDotProductFlashAttentionBackward0"};
    case OpKind::batch_norm_forward:
    case OpKind::batch_norm_backward:
      return {"aten::batch_norm", "aten::native_batch_norm_backward", "NativeBatchNormBackward0"};
    case OpKind::layer_norm:
      return {"aten::layer_norm", "aten::native_layer_norm_backward", "NativeLayerNormBackward0"};
    case OpKind::elementwise:
      return names_of_elementwise(op);
    case OpKind::embedding:
      return {"aten::embedding", "aten::embedding_dense_backward", "EmbeddingBackward0"};
    case OpKind::pooling:
      if (is_named(op, "avg"))
        return {"aten::adaptive_avg_pool2d", "aten::_adaptive_avg_pool2d_backward",
                "AdaptiveAvgPool2DBackward0"};
      return {"aten::max_pool2d", "aten::max_pool2d_with_indices_backward", "MaxPool2DWithIndicesBackward0"};
    case OpKind::softmax:
      return {"aten::softmax", "aten::_softmax_backward_data", "SoftmaxBackward0"};
    case OpKind::optimizer:
    case OpKind::measured:
    case OpKind::host:
      break;
  }
  return {"trainyard::measured", "trainyard::measured", "MeasuredBackward0"};
}

struct NcclNames {
  Operation operation;
  std::string_view record, kernel;
};

// Names of the operation in torch.distributed and in NCCL, which exchanges parts by sends and receives.
constexpr std::array nccl_names{NcclNames{Operation::all_reduce, "allreduce", "AllReduce"},
                                NcclNames{Operation::reduce_scatter, "_reduce_scatter_base", "ReduceScatter"},
                                NcclNames{Operation::all_gather, "_allgather_base", "AllGather"},
                                NcclNames{Operation::broadcast, "broadcast", "Broadcast"},
                                NcclNames{Operation::reduce, "reduce", "Reduce"},
                                NcclNames{Operation::all_to_all, "all_to_all", "SendRecv"},
                                NcclNames{Operation::send_recv, "send", "SendRecv"}};

const NcclNames& nccl_names_of(Operation operation) {
  return nccl_names.at(static_cast<std::size_t>(operation));
}

std::string capitals(std::string_view text) {
  std::string made;
  for (const char c : text) made += static_cast<char>(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
  return made;
}

std::string_view optimizer_class(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
    case Optimizer::momentum:
      return "SGD";
    case Optimizer::lars:
      return "LARS";
    case Optimizer::adam:
      return "Adam";
    case Optimizer::lamb:
      break;
  }
  return "LAMB";
}

}  // namespace

std::string operator_name(const Op& op) {
  const Names names = names_of(op);
  return std::string(op.phase == Phase::backward ? names.backward : names.forward);
}

std::string backward_name(const Op& op) { return std::string(names_of(op).range); }

std::string kernel_name(const Op& op) {
  return fmt::format("{}({})", config::name_of(op.kind), to_string(op.shape));
}

std::string optimizer_range(Optimizer optimizer) {
  return fmt::format("Optimizer.step#{}.step", optimizer_class(optimizer));
}

std::string optimizer_operator(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
    case Optimizer::momentum:
      return "aten::_fused_sgd_";
    case Optimizer::adam:
      return "aten::_fused_adam_";
    case Optimizer::lars:
    case Optimizer::lamb:
      break;
  }
  return fmt::format("trainyard::{}", config::name_of(optimizer));
}

namespace {

constexpr ValueType float_type{"Float", "float", "f32", 4};
constexpr ValueType half_type{"Half", "c10::Half", "f16", 2};
constexpr ValueType bfloat_type{"BFloat16", "c10::BFloat16", "bf16", 2};
constexpr ValueType byte_type{"Byte", "unsigned char", "u8", 1};

bool is_of_bfloat(Precision precision) {
  return precision == Precision::bf16 || precision == Precision::amp_bf16 ||
         precision == Precision::pure_bf16 || precision == Precision::fp8;
}

}  // namespace

ValueType activation_type(Precision precision) {
  if (is_of_bfloat(precision)) return bfloat_type;
  return precision == Precision::fp32 || precision == Precision::tf32 ? float_type : half_type;
}

ValueType collective_type(Bytes value, Precision precision, double size) {
  const ValueType type = value.si() > 2 ? float_type : is_of_bfloat(precision) ? bfloat_type : half_type;
  return std::fmod(size, type.bytes) == 0 ? type : byte_type;
}

std::string_view collective_name(Operation operation) { return nccl_names_of(operation).record; }

std::string collective_operator(Operation operation) {
  return fmt::format("c10d::{}_", nccl_names_of(operation).record);
}

std::string nccl_kernel(Operation operation, std::string_view type, std::string_view algorithm,
                        std::string_view protocol) {
  const std::string_view kernel = nccl_names_of(operation).kernel;
  std::string name = fmt::format("ncclDevKernel_{}", kernel);
  if (reduces(operation)) name += fmt::format("_Sum_{}", type);
  if (kernel != "SendRecv") {
    name += "_" + capitals(algorithm);
    name += "_" + capitals(protocol);
  }
  return name + "(ncclDevKernelArgsStorage<4096ul>)";
}

}  // namespace trainyard
