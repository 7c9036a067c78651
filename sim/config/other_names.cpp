#include "config/other_names.hpp"

#include "config/same_gpu.hpp"
#include "units/letters.hpp"

#include <algorithm>
#include <array>

namespace trainyard::config {
namespace {

// Only words that the rules below do not find: they know capitals, punctuation, makers and unique beginnings.
constexpr std::array all_other_names{
    OtherName{Kind::gpu, "A100-PG509", "a100_sxm4_40gb"},
    OtherName{Kind::gpu, "A100-PG509-200", "a100_sxm4_40gb"},
    OtherName{Kind::gpu, "H100 80GB HBM3", "h100_sxm_80gb"},
    OtherName{Kind::gpu, "H200", "h200_sxm_141gb"},
    OtherName{Kind::gpu, "B300 SXM6 AC", "b300_sxm_270gb"},
    OtherName{Kind::gpu, "V100-SXM3-32GB-H", "v100_sxm3_32gb_450w"},
    OtherName{Kind::gpu, "RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_server_96gb"},
    OtherName{Kind::gpu, "RTX PRO 6000 Blackwell Workstation Edition", "rtx_pro_6000_workstation_96gb"},
    OtherName{Kind::gpu, "RTX 6000 Ada", "rtx6000_ada_48gb"},
    OtherName{Kind::gpu, "RTX 6000 Ada Generation", "rtx6000_ada_48gb"},
    OtherName{Kind::gpu, "6000 Ada", "rtx6000_ada_48gb"},
    OtherName{Kind::gpu, "RTX A6000", "a6000"},
    OtherName{Kind::gpu, "GH200 480GB", "gh200_96gb"},
    OtherName{Kind::gpu, "GH200 144G HBM3e", "gh200_144gb"},
    OtherName{Kind::gpu, "K40m", "k40"},
    OtherName{Kind::gpu, "K40c", "k40"},
    OtherName{Kind::gpu, "MI300X OAM", "mi300x_192gb"},
    OtherName{Kind::gpu, "MI300X VF", "mi300x_192gb"},
    OtherName{Kind::gpu, "MI325X OAM", "mi325x_256gb"},
    OtherName{Kind::gpu, "MI350X OAM", "mi350x_288gb"},
    OtherName{Kind::gpu, "MI355X OAM", "mi355x_288gb"},
    OtherName{Kind::gpu, "MI250X OAM", "mi250x_gcd_64gb"},
    OtherName{Kind::stack, "ddp", "pytorch_ddp"},
    OtherName{Kind::stack, "torch", "pytorch_ddp"},
    OtherName{Kind::stack, "torch_ddp", "pytorch_ddp"},
    OtherName{Kind::stack, "distributed_data_parallel", "pytorch_ddp"},
    OtherName{Kind::stack, "fsdp", "pytorch_fsdp"},
    OtherName{Kind::stack, "fsdp1", "pytorch_fsdp"},
    OtherName{Kind::stack, "torch_fsdp", "pytorch_fsdp"},
    OtherName{Kind::stack, "fully_sharded_data_parallel", "pytorch_fsdp"},
    OtherName{Kind::stack, "fsdp2", "torchtitan"},
    OtherName{Kind::stack, "fully_shard", "torchtitan"},
    OtherName{Kind::stack, "titan", "torchtitan"},
    OtherName{Kind::stack, "dp", "dataparallel_gpu0"},
    OtherName{Kind::stack, "data_parallel", "dataparallel_gpu0"},
    OtherName{Kind::stack, "nn.DataParallel", "dataparallel_gpu0"},
    OtherName{Kind::stack, "gloo", "pytorch_gloo"},
    OtherName{Kind::stack, "hvd", "horovod"},
    OtherName{Kind::stack, "apex", "apex_ddp"},
    OtherName{Kind::stack, "mcore", "megatron_core"},
    OtherName{Kind::stack, "nemo", "megatron_lm"},
    OtherName{Kind::stack, "te", "transformer_engine"},
    OtherName{Kind::stack, "jax", "jax_xla"},
    OtherName{Kind::stack, "maxtext", "jax_xla"},
    OtherName{Kind::stack, "flax", "jax_xla"},
    OtherName{Kind::stack, "composer", "mosaic"},
    OtherName{Kind::stack, "llm_foundry", "mosaic"},
    OtherName{Kind::stack, "mirrored_strategy", "tf2_mirrored"},
    OtherName{Kind::stack, "multi_worker_mirrored_strategy", "tf2_mirrored"},
    OtherName{Kind::stack, "tf2", "tf2_mirrored"},
    OtherName{Kind::stack, "tensorflow2", "tf2_mirrored"},
    OtherName{Kind::stack, "paddlepaddle", "paddle"},
    OtherName{Kind::stack, "kvstore", "mxnet_kvstore"},
    OtherName{Kind::model, "vit_base", "vit_b_16"},
    OtherName{Kind::model, "vit_large", "vit_l_16"},
    OtherName{Kind::model, "vit_huge", "vit_h_14"},
    OtherName{Kind::model, "llama3.1_405b", "llama31_405b"},
    OtherName{Kind::model, "llama3_405b", "llama31_405b"},
    OtherName{Kind::model, "llama3.1_70b", "llama3_70b"},
    OtherName{Kind::model, "llama3.1_8b", "llama3_8b"},
    OtherName{Kind::model, "gpt3", "gpt3_175b"},
    OtherName{Kind::model, "bloom", "bloom_176b"},
    OtherName{Kind::model, "llama3.3_70b", "llama3_70b"},
    OtherName{Kind::model, "llama_7b", "llama2_7b"},
    OtherName{Kind::model, "llama_13b", "llama2_13b"},
    OtherName{Kind::model, "vicuna_7b_v1.5", "llama2_7b"},
    OtherName{Kind::model, "vicuna_13b_v1.5", "llama2_13b"},
    OtherName{Kind::model, "DeepSeek-R1-Distill-Llama-8B", "llama3_8b"},
    OtherName{Kind::model, "DeepSeek-R1-Distill-Llama-70B", "llama3_70b"},
    OtherName{Kind::model, "DeepSeek-R1-Distill-Qwen-7B", "qwen25_7b"},
    OtherName{Kind::model, "DeepSeek-R1-Distill-Qwen-14B", "qwen25_14b"},
    OtherName{Kind::model, "DeepSeek-R1-Distill-Qwen-32B", "qwen25_32b"},
    OtherName{Kind::model, "DeepSeek-R1", "deepseek_v3"},
    OtherName{Kind::model, "DeepSeek-V3.1", "deepseek_v3"},
    OtherName{Kind::model, "deepseek3_671b", "deepseek_v3"},
    OtherName{Kind::model, "deepseek_v3_671b", "deepseek_v3"},
    OtherName{Kind::model, "deepseek2_236b", "deepseek_v2"},
    OtherName{Kind::model, "deepseek_v3_236b", "deepseek_v2"},
    OtherName{Kind::model, "deepseek2_16b", "deepseek_v2_lite"},
    OtherName{Kind::model, "deepseek_v3_16b", "deepseek_v2_lite"},
    OtherName{Kind::model, "qwen2_0.5b", "qwen25_0_5b"},
    OtherName{Kind::model, "qwen2_1.5b", "qwen25_1_5b"},
    OtherName{Kind::model, "qwen2_7b", "qwen25_7b"},
    OtherName{Kind::model, "qwen2_72b", "qwen25_72b"},
    OtherName{Kind::model, "Llama-4-Scout-17B-16E", "llama4_scout"},
    OtherName{Kind::model, "llama4_17b_16e", "llama4_scout"},
    OtherName{Kind::model, "llama4_17bx16e", "llama4_scout"},
    OtherName{Kind::model, "Llama-4-Maverick-17B-128E", "llama4_maverick"},
    OtherName{Kind::model, "llama4_17b_128e", "llama4_maverick"},
    OtherName{Kind::model, "llama4_17bx128e", "llama4_maverick"},
    OtherName{Kind::model, "phi3.5_mini", "phi3_mini"},
    OtherName{Kind::model, "phi4_14b", "phi4"},
    OtherName{Kind::model, "Mistral-Small-24B", "mistral_small"},
    OtherName{Kind::model, "Magistral-Small", "mistral_small"},
    OtherName{Kind::model, "Mistral-Nemo-12B", "mistral_nemo"},
    OtherName{Kind::model, "TinyLlama_v1.1", "tinyllama_1_1b"},
    OtherName{Kind::model, "TinyLlama-1.1B-intermediate-step-1431k-3T", "tinyllama_1_1b"},
    OtherName{Kind::model, "Yi-1.5-6B", "yi_6b"},
    OtherName{Kind::model, "Yi-1.5-9B", "yi_9b"},
    OtherName{Kind::model, "Yi-1.5-34B", "yi_34b"},
    OtherName{Kind::platform, "a2_highgpu_8g", "gcp_a2_highgpu"},
    OtherName{Kind::platform, "a2_megagpu_16g", "gcp_a2_megagpu"},
    OtherName{Kind::platform, "a3_high", "gcp_a3_highgpu"},
    OtherName{Kind::platform, "a3_highgpu_8g", "gcp_a3_highgpu"},
    OtherName{Kind::platform, "a3_mega", "gcp_a3_megagpu"},
    OtherName{Kind::platform, "a3_megagpu_8g", "gcp_a3_megagpu"},
    OtherName{Kind::platform, "a3_ultra", "gcp_a3_ultragpu"},
    OtherName{Kind::platform, "a3_ultragpu_8g", "gcp_a3_ultragpu"},
    OtherName{Kind::platform, "a4", "gcp_a4_highgpu"},
    OtherName{Kind::platform, "a4_highgpu_8g", "gcp_a4_highgpu"},
    OtherName{Kind::platform, "nd_h100_v5", "azure_nd_h100_v5"},
    OtherName{Kind::platform, "ND96isr_H100_v5", "azure_nd_h100_v5"},
    OtherName{Kind::platform, "Standard_ND96isr_H100_v5", "azure_nd_h100_v5"},
    OtherName{Kind::platform, "nd_h200", "azure_nd_h200_v5"},
    OtherName{Kind::platform, "nd_h200_v5", "azure_nd_h200_v5"},
    OtherName{Kind::platform, "ND96isr_H200_v5", "azure_nd_h200_v5"},
    OtherName{Kind::platform, "Standard_ND96isr_H200_v5", "azure_nd_h200_v5"},
    OtherName{Kind::platform, "nd_mi300x", "azure_nd_mi300x_v5"},
    OtherName{Kind::platform, "nd_mi300x_v5", "azure_nd_mi300x_v5"},
    OtherName{Kind::platform, "ND96isr_MI300X_v5", "azure_nd_mi300x_v5"},
    OtherName{Kind::platform, "Standard_ND96isr_MI300X_v5", "azure_nd_mi300x_v5"},
    OtherName{Kind::platform, "nd_gb200", "azure_nd_gb200_v6"},
    OtherName{Kind::platform, "nd_gb200_v6", "azure_nd_gb200_v6"},
    OtherName{Kind::platform, "ND128isr_NDR_GB200_v6", "azure_nd_gb200_v6"},
    OtherName{Kind::platform, "Standard_ND128isr_NDR_GB200_v6", "azure_nd_gb200_v6"},
    OtherName{Kind::platform, "hgx_a100", "dgx_a100"},
    OtherName{Kind::platform, "8xa100", "dgx_a100"},
    OtherName{Kind::platform, "hgx_h100", "dgx_h100"},
    OtherName{Kind::platform, "8xh100", "dgx_h100"},
    OtherName{Kind::platform, "hgx_h200", "dgx_h200"},
    OtherName{Kind::platform, "8xh200", "dgx_h200"},
    OtherName{Kind::platform, "hgx_b200", "dgx_b200"},
    OtherName{Kind::platform, "8xb200", "dgx_b200"},
    OtherName{Kind::platform, "hgx_b300", "dgx_b300"},
    OtherName{Kind::platform, "8xb300", "dgx_b300"},
    OtherName{Kind::platform, "8x_h100_pcie", "server_h100_pcie"},
    OtherName{Kind::platform, "8x_h100_nvl", "server_h100_nvl"},
    OtherName{Kind::platform, "8x_l40s", "server_l40s"},
    OtherName{Kind::platform, "8x_a10g", "g5_48xlarge"},
    OtherName{Kind::platform, "8x_4090", "server_4090"},
    OtherName{Kind::platform, "8x_rtx_4090", "server_4090"},
    OtherName{Kind::platform, "4x_4090", "workstation_4090"},
    OtherName{Kind::platform, "4x_rtx_4090", "workstation_4090"},
    OtherName{Kind::platform, "8x_5090", "server_5090"},
    OtherName{Kind::platform, "8x_rtx_5090", "server_5090"},
    OtherName{Kind::platform, "4x_5090", "workstation_5090"},
    OtherName{Kind::platform, "4x_rtx_5090", "workstation_5090"},
    OtherName{Kind::platform, "8x_rtx_6000_ada", "server_rtx6000_ada"},
    OtherName{Kind::platform, "4x_rtx_6000_ada", "workstation_rtx6000_ada"},
    OtherName{Kind::platform, "8x_rtx_pro_6000", "server_rtx_pro_6000"},
    OtherName{Kind::platform, "4x_rtx_pro_6000", "workstation_rtx_pro_6000"},
    OtherName{Kind::platform, "8x_mi300x", "server_mi300x"},
    OtherName{Kind::platform, "8x_mi325x", "server_mi325x"},
    OtherName{Kind::platform, "8x_mi350x", "server_mi350x"},
    OtherName{Kind::platform, "8x_mi355x", "server_mi355x"},
};

/// A word that names something else, and the advice for it.
struct Advice {
  Kind kind;
  std::string_view word;
  std::string_view text;
};

constexpr std::string_view sharded_parameters =
    "ZeRO-3 divides the parameters: --stack deepspeed --set parallelism.shard=parameters";
constexpr std::string_view model_layout =
    "that is a layout: --stack megatron_lm --set parallelism.tensor=2 or parallelism.pipeline=2";
constexpr std::string_view dgx_a100_of_80_gb =
    "the DGX A100 640 GB has the links of the shipped one: --platform dgx_a100 --gpu a100_sxm4_80gb";

constexpr std::array advices{
    Advice{Kind::stack, "zero",
           "ZeRO divides the state: --stack deepspeed --set parallelism.shard=optimizer, gradients or "
           "parameters (stages 1 to 3)"},
    Advice{Kind::stack, "zero1",
           "ZeRO-1 divides the optimizer state: --stack deepspeed --set parallelism.shard=optimizer"},
    Advice{Kind::stack, "zero2",
           "ZeRO-2 also divides the gradients: --stack deepspeed --set parallelism.shard=gradients"},
    Advice{Kind::stack, "zero3", sharded_parameters},
    Advice{Kind::stack, "deepspeed_zero3", sharded_parameters},
    Advice{Kind::stack, "hsdp",
           "HSDP divides the state within nodes: --stack pytorch_fsdp --set parallelism.shard=parameters "
           "--set parallelism.shard_over=node"},
    Advice{Kind::stack, "tp", model_layout},
    Advice{Kind::stack, "pp", model_layout},
    Advice{Kind::stack, "nccl", "NCCL is the library of most stacks: --stack pytorch_ddp"},
    Advice{Kind::stack, "tensorflow", "one of tf2_mirrored, tf_replicated, tf_parameter_server"},
    Advice{Kind::stack, "tf", "one of tf2_mirrored, tf_replicated, tf_parameter_server"},
    Advice{Kind::stack, "mxnet", "one of mxnet_horovod, mxnet_kvstore"},
    Advice{Kind::model, "gpt2", "one of gpt2_small, gpt2_medium, gpt2_large, gpt2_xl"},
    Advice{Kind::model, "bert", "one of bert_base, bert_large"},
    Advice{Kind::platform, "dgx_a100_80gb", dgx_a100_of_80_gb},
    Advice{Kind::platform, "dgx_a100_640gb", dgx_a100_of_80_gb},
    Advice{Kind::gpu, "A800-SXM4-80GB", "an A800 is an A100 with 8 NVLinks: a100_sxm4_80gb"},
    Advice{Kind::gpu, "A800 80GB PCIe", "an A800 is an A100 with 8 NVLinks: a100_pcie_80gb"},
    Advice{Kind::gpu, "H800", "an H800 is an H100 with 8 NVLinks: h100_measured"},
    Advice{Kind::gpu, "RTX 4090 D", "an RTX 4090 D is an RTX 4090 with 114 of its 128 SMs: rtx4090"},
    Advice{Kind::gpu, "RTX PRO 6000 Blackwell Max-Q Workstation Edition",
           "a Max-Q has half of the power: rtx_pro_6000_workstation_96gb is faster"},
    Advice{Kind::gpu, "gfx942", "one of mi300x_192gb, mi325x_256gb"},
    Advice{Kind::gpu, "gfx950", "one of mi350x_288gb, mi355x_288gb"},
    Advice{Kind::gpu, "gfx90a", "that of an MI250X: mi250x_gcd_64gb"},
};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (is_letter_or_digit(c))
      words.back() += small_letter(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Makers that drivers write before a GPU: "NVIDIA GeForce RTX 3090".
constexpr std::array<std::string_view, 6> makers{"nvidia", "tesla", "geforce", "quadro", "amd", "instinct"};

std::vector<std::string> words_of_gpu(std::string_view text) {
  std::vector<std::string> words = words_in(text);
  const auto is_maker = [](const std::string& word) {
    return std::ranges::find(makers, word) != makers.end();
  };
  words.erase(words.begin(), std::ranges::find_if_not(words, is_maker));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

/// Letters and digits alone, small: "DGX H100" is "dgxh100".
std::string letters_and_digits(std::string_view text) { return joined(words_in(text)); }

/// "rtx3090" is "3090", as people say it.
std::string without_series(std::string text) {
  const bool has_series = text.starts_with("rtx") || text.starts_with("gtx");
  return has_series && text.size() > 3 ? text.substr(3) : text;
}

/// "sxm5" is the "sxm" of a name without a number.
bool is_word_of(std::string_view asked, std::string_view word) {
  constexpr std::string_view socket = "sxm";
  if (asked.starts_with(socket) && word.starts_with(socket))
    return asked == word || asked == socket || word == socket;
  return asked == word;
}

/// Whether the first words are the same and the name has all further words asked for.
bool has_words(const std::vector<std::string>& asked, const std::vector<std::string>& name) {
  if (asked.empty() || name.empty() || asked.front() != name.front()) return false;
  // the number tells GPUs of a series apart: an RTX 6000 is no RTX PRO 6000
  const bool is_of_series = asked.front() == "rtx" || asked.front() == "gtx";
  if (is_of_series && asked.size() > 1 && (name.size() < 2 || asked[1] != name[1])) return false;
  return std::ranges::all_of(asked, [&](const std::string& word) {
    return std::ranges::any_of(name, [&](const std::string& part) { return is_word_of(word, part); });
  });
}

std::string text_of(Kind kind, std::string_view text) {
  return kind == Kind::gpu ? joined(words_of_gpu(text)) : letters_and_digits(text);
}

/// The name with the same letters and digits, or that of the table.
std::string same_name(const std::vector<std::string>& known, Kind kind, std::string_view text) {
  const std::string wanted = text_of(kind, text);
  if (wanted.empty()) return {};
  std::string with_underscores;  // "opt-1.3b" is opt_1_3b, not opt_13b
  for (const std::string& word : words_in(text))
    with_underscores += (with_underscores.empty() ? "" : "_") + word;
  if (std::ranges::find(known, with_underscores) != known.end()) return with_underscores;
  const auto is_same = [&](const std::string& name) { return letters_and_digits(name) == wanted; };
  if (const auto found = std::ranges::find_if(known, is_same); found != known.end()) return *found;
  for (const OtherName& other : all_other_names) {
    if (other.kind != kind || letters_and_digits(other.word) != wanted) continue;
    if (std::ranges::find(known, other.name) != known.end()) return std::string(other.name);
  }
  if (kind != Kind::gpu) return {};
  const auto is_of_series = [&](const std::string& name) {
    return without_series(letters_and_digits(name)) == without_series(wanted);
  };
  const auto found = std::ranges::find_if(known, is_of_series);
  return found == known.end() ? std::string() : *found;
}

/// The names with all words of the text.
std::vector<std::string> names_with(std::vector<std::string> known, Kind kind, std::string_view text) {
  const std::vector<std::string> asked = kind == Kind::gpu ? words_of_gpu(text) : words_in(text);
  std::erase_if(known, [&](const std::string& name) { return !has_words(asked, words_in(name)); });
  return known;
}

}  // namespace

std::vector<std::string> names_possible(const Catalogue& catalogue, Kind kind, std::string_view text) {
  if (kind != Kind::gpu && kind != Kind::platform) return {};
  std::vector<std::string> found = names_with(names(catalogue, kind), kind, text);
  if (kind != Kind::gpu) return found;
  for (std::string& name : found) name = recorded_profile(name);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string name_meant(const Catalogue& catalogue, Kind kind, std::string_view text) {
  const std::string same = same_name(names(catalogue, kind), kind, text);
  // a product is a GPU, not one of its profiles: shipped platforms have the recorded one
  if (!same.empty()) return kind == Kind::gpu ? std::string(recorded_profile(same)) : same;
  const std::vector<std::string> possible = names_possible(catalogue, kind, text);
  return possible.size() == 1 ? possible.front() : std::string();
}

std::string gpu_meant(const std::vector<std::string>& profiles, std::string_view product) {
  const std::string same = same_name(profiles, Kind::gpu, product);
  if (!same.empty()) return same;
  const std::vector<std::string> possible = names_with(profiles, Kind::gpu, product);
  return possible.size() == 1 ? possible.front() : std::string();
}

std::span<const OtherName> other_names() { return all_other_names; }

std::string_view advice_on(Kind kind, std::string_view word) {
  const std::string wanted = text_of(kind, word);
  const auto is_it = [&](const Advice& advice) {
    return advice.kind == kind && letters_and_digits(advice.word) == wanted;
  };
  const auto* const found = std::ranges::find_if(advices, is_it);
  return found == advices.end() ? std::string_view() : found->text;
}

}  // namespace trainyard::config
