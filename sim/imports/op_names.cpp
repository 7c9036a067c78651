#include "imports/op_names.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace trainyard {
namespace {

struct KindOfName {
  std::string_view part;  ///< of the operator's name, without its namespace
  OpKind forward, backward;
};

// The first that the name begins with counts.
constexpr std::array kinds{
    KindOfName{"conv", OpKind::conv_forward, OpKind::measured},
    KindOfName{"_convolution", OpKind::conv_forward, OpKind::measured},
    KindOfName{"cudnn_convolution", OpKind::conv_forward, OpKind::measured},
    KindOfName{"miopen_convolution", OpKind::conv_forward, OpKind::measured},
    KindOfName{"linear", OpKind::gemm, OpKind::gemm},
    KindOfName{"addmm", OpKind::gemm, OpKind::gemm},
    KindOfName{"_addmm", OpKind::gemm, OpKind::gemm},
    KindOfName{"baddbmm", OpKind::gemm, OpKind::gemm},
    KindOfName{"bmm", OpKind::gemm, OpKind::gemm},
    KindOfName{"mm", OpKind::gemm, OpKind::gemm},
    KindOfName{"matmul", OpKind::gemm, OpKind::gemm},
    KindOfName{"einsum", OpKind::gemm, OpKind::gemm},
    KindOfName{"scaled_dot_product", OpKind::attention, OpKind::attention},
    KindOfName{"_scaled_dot_product", OpKind::attention, OpKind::attention},
    KindOfName{"_flash_attention", OpKind::attention, OpKind::attention},
    KindOfName{"_efficient_attention", OpKind::attention, OpKind::attention},
    KindOfName{"batch_norm", OpKind::batch_norm_forward, OpKind::batch_norm_backward},
    KindOfName{"native_batch_norm", OpKind::batch_norm_forward, OpKind::batch_norm_backward},
    KindOfName{"cudnn_batch_norm", OpKind::batch_norm_forward, OpKind::batch_norm_backward},
    KindOfName{"miopen_batch_norm", OpKind::batch_norm_forward, OpKind::batch_norm_backward},
    KindOfName{"layer_norm", OpKind::layer_norm, OpKind::layer_norm},
    KindOfName{"native_layer_norm", OpKind::layer_norm, OpKind::layer_norm},
    KindOfName{"softmax", OpKind::softmax, OpKind::softmax},
    KindOfName{"_softmax", OpKind::softmax, OpKind::softmax},
    KindOfName{"log_softmax", OpKind::softmax, OpKind::softmax},
    KindOfName{"_log_softmax", OpKind::softmax, OpKind::softmax},
    KindOfName{"embedding", OpKind::embedding, OpKind::embedding},
    KindOfName{"_embedding_bag", OpKind::embedding, OpKind::embedding},
    KindOfName{"max_pool", OpKind::pooling, OpKind::pooling},
    KindOfName{"avg_pool", OpKind::pooling, OpKind::pooling},
    KindOfName{"adaptive_avg_pool", OpKind::pooling, OpKind::pooling},
    KindOfName{"_adaptive_avg_pool", OpKind::pooling, OpKind::pooling},
    KindOfName{"adaptive_max_pool", OpKind::pooling, OpKind::pooling},
    KindOfName{"relu", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"threshold", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"gelu", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"silu", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"sigmoid", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"tanh", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"dropout", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"native_dropout", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"add", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"sub", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"mul", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"div", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"copy", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"to", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"fill", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"zero", OpKind::elementwise, OpKind::elementwise},
    KindOfName{"ones", OpKind::elementwise, OpKind::elementwise},
};

/// Whether a name is a word or begins with it and something that is no letter, or a further word: "add_",
/// "add.out".
bool begins_with_word(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return false;
  if (name.size() == word.size()) return true;
  const char next = name[word.size()];
  return next < 'a' || next > 'z' || word.size() > 3;
}

struct OperationName {
  std::string_view part;
  Operation operation;
};

// The first that is in the name, in small letters without underscores, counts.
constexpr std::array operations{
    OperationName{"allreduce", Operation::all_reduce},
    OperationName{"reducescatter", Operation::reduce_scatter},
    OperationName{"allgather", Operation::all_gather},
    OperationName{"alltoall", Operation::all_to_all},
    OperationName{"broadcast", Operation::broadcast},
    OperationName{"reduce", Operation::reduce},
};

}  // namespace

bool ends_with_backward(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward");
}

bool is_backward_range(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function") || name.starts_with("torch::autograd::") ||
         ends_with_backward(name);
}

bool is_optimizer_range(std::string_view name) {
  return name.starts_with("Optimizer.step") || name == "## optimizer ##";
}

bool is_zero_grad_range(std::string_view name) {
  return name.starts_with("Optimizer.zero_grad") || name == "## zero_grad ##";
}

bool names_operands(std::string_view range) {
  return range.starts_with("nccl:") || range.starts_with("rccl:");
}

std::string_view plain_name(std::string_view name) {
  constexpr std::string_view wrapper = "autograd::engine::evaluate_function: ";
  if (name.starts_with(wrapper)) name.remove_prefix(wrapper.size());
  const std::size_t colons = name.rfind("::");
  if (colons != std::string_view::npos) name.remove_prefix(colons + 2);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9' &&
         name.find("Backward") != std::string_view::npos)
    name.remove_suffix(1);
  if (name.ends_with("Backward") && name.size() > 8) name.remove_suffix(8);
  return name;
}

OpKind kind_of_operator(std::string_view name, bool is_backward) {
  if (!name.starts_with("aten::")) return OpKind::measured;
  const std::string_view plain = plain_name(name);
  for (const KindOfName& one : kinds) {
    if (begins_with_word(plain, one.part)) return is_backward ? one.backward : one.forward;
  }
  return OpKind::measured;
}

std::optional<OpKind> pass_of_kernel(std::string_view kernel) {
  const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
  if (has("wgrad") || has("wrw") || has("WrW") || has("bwd_filter") || has("BwdWeights") || has("bwd_weight"))
    return OpKind::conv_wgrad;
  if (has("dgrad") || has("bwd_data") || has("BwdData") || has("_bwd_") || has("igemm_bwd"))
    return OpKind::conv_dgrad;
  // A convolution of 1x1 is a matrix product: dx = w dy takes both operands as stored, dw = x dy^T the second
  // transposed.
  if (has("gemm") && has("_nn_")) return OpKind::conv_dgrad;
  if (has("gemm") && has("_nt_")) return OpKind::conv_wgrad;
  // So do cuBLAS's nvjet kernels, "nvjet_sm90_tst_64x64_64x13_2x1_v_bz_splitK_NTT": on an H100 with
  // PyTorch 2.11 all 444 products of BERT-Base's backward pass have these letters.
  if (kernel.starts_with("nvjet_")) {
    const std::string_view letters = kernel.substr(kernel.rfind('_') + 1);
    if (letters.size() == 3 && letters.starts_with("NN")) return OpKind::conv_dgrad;
    if (letters.size() == 3 && letters.starts_with("NT")) return OpKind::conv_wgrad;
  }
  return std::nullopt;
}

std::optional<Operation> operation_named(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, name.find_first_of("(<"))) {
    if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  }
  const auto* const found = std::ranges::find_if(
      operations, [&](const OperationName& one) { return plain.find(one.part) != std::string::npos; });
  return found == operations.end() ? std::nullopt : std::optional(found->operation);
}

std::string_view short_kernel_name(std::string_view name) {
  constexpr std::string_view prefix = "void ";
  constexpr std::string_view anonymous = "(anonymous namespace)";
  constexpr std::size_t longest = 60;
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  std::size_t end = name.find_first_of("(<");
  while (end != std::string_view::npos && name.substr(end).starts_with(anonymous))
    end = name.find_first_of("(<", end + anonymous.size());
  const std::string_view made = end == 0 ? name : name.substr(0, end);
  return made.substr(0, longest);
}

}  // namespace trainyard
