#include "exports/pytorch_names.hpp"

#include "units/text.hpp"
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
                                NcclNames{Operation::gather, "gather", "SendRecv"},
                                NcclNames{Operation::scatter, "scatter", "SendRecv"},
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
         precision == Precision::pure_bf16 || is_narrow(precision);
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

namespace {

/// Values of a row of an embedding's table: those of the op over its tokens. Empty if it is no whole number.
std::optional<double> row_length(const Trace& trace, const VectorShape& shape) {
  const double tokens = static_cast<double>(trace.batch_per_gpu) * trace.sequence_length.value_or(0);
  if (!(tokens >= 1) || std::fmod(shape.elements, tokens) != 0) return std::nullopt;
  return shape.elements / tokens;
}

OperandTexts of_convolution(const Op& op, const ConvShape& shape) {
  const auto size = [&](int input, int window, int pad) {
    return (input + 2 * pad - window) / shape.stride + 1;
  };
  const std::string input =
      fmt::format("[{},{},{},{}]", shape.batch, shape.in_channels, shape.height, shape.width);
  const std::string weight = fmt::format("[{},{},{},{}]", shape.out_channels,
                                         shape.in_channels / shape.groups, shape.kernel_h, shape.kernel_w);
  const std::string rest =
      fmt::format(R"("[{0}, {0}]","[{1}, {2}]","[1, 1]")", shape.stride, shape.pad_h, shape.pad_w);
  if (op.phase != Phase::backward) {
    return {.dims = fmt::format("[{},{},[],[],[],[],[]]", input, weight),
            .values = fmt::format(R"(["","","",{},"{}"])", rest, shape.groups)};
  }
  const std::string output = fmt::format("[{},{},{},{}]", shape.batch, shape.out_channels,
                                         size(shape.height, shape.kernel_h, shape.pad_h),
                                         size(shape.width, shape.kernel_w, shape.pad_w));
  return {.dims = fmt::format("[{},{},{},[],[],[],[],[],[],[],[]]", output, input, weight),
          .values = fmt::format(R"(["","","","",{},"False","[0, 0]","{}","[True, True, False]"])", rest,
                                shape.groups)};
}

OperandTexts of_product(const Op& op, const GemmShape& shape) {
  if (op.kind == OpKind::attention) {  // queries, keys and values
    return {.dims = fmt::format("[[{0},{1},{3}],[{0},{2},{3}],[{0},{2},{3}]]", shape.batch, shape.m, shape.n,
                                shape.k),
            .values = {}};
  }
  if (shape.batch > 1) {
    return {.dims = fmt::format("[[{0},{1},{3}],[{0},{3},{2}]]", shape.batch, shape.m, shape.n, shape.k),
            .values = {}};
  }
  const bool is_linear = op.phase != Phase::backward && shape.transpose_b && !shape.transpose_a;
  if (is_linear)
    return {.dims = fmt::format("[[{},{}],[{},{}]]", shape.m, shape.k, shape.n, shape.k), .values = {}};
  return {.dims = fmt::format("[[{},{}],[{},{}]]", shape.m, shape.k, shape.k, shape.n), .values = {}};
}

}  // namespace

std::optional<double> table_rows(const Trace& trace, const Op& embedding) {
  const auto* shape = std::get_if<VectorShape>(&embedding.shape);
  const std::optional<double> length = shape == nullptr ? std::nullopt : row_length(trace, *shape);
  if (!length) return std::nullopt;
  for (const Op& op : trace.ops) {
    if (op.phase != Phase::backward || op.layer != embedding.layer) continue;
    for (const Gradient& gradient : op.gradients) {
      if (gradient.elements >= *length && std::fmod(gradient.elements, *length) == 0)
        return gradient.elements / *length;
    }
  }
  return std::nullopt;
}

OperandTexts operand_texts_of(const Op& op, const Trace& trace, std::optional<double> rows) {
  if (const auto* conv = std::get_if<ConvShape>(&op.shape)) return of_convolution(op, *conv);
  if (const auto* product = std::get_if<GemmShape>(&op.shape)) return of_product(op, *product);
  const auto* vector = std::get_if<VectorShape>(&op.shape);
  if (vector == nullptr || !(vector->elements >= 1) || vector->elements != std::floor(vector->elements))
    return {};
  if (op.kind == OpKind::embedding && op.phase == Phase::forward) {
    const std::optional<double> length = row_length(trace, *vector);
    if (!length || !rows) return {};
    return {.dims = fmt::format("[[{},{}],[{},{}]]", shortest(*rows), shortest(*length), trace.batch_per_gpu,
                                trace.sequence_length.value_or(1)),
            .values = {}};
  }
  return {.dims = fmt::format("[[{}]]", shortest(vector->elements)), .values = {}};
}

}  // namespace trainyard
