#include "experiment/usual_software.hpp"

#include "config/keys.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {
namespace {

/// Whether a mapping in a document has a key.
bool has_key(const config::Node& node, std::string_view key) {
  const auto has = [&](const config::Node& part) { return has_key(part, key); };
  return node.find(key) != nullptr || std::ranges::any_of(node.items, has) ||
         std::ranges::any_of(node.entries, has, &config::Node::Entry::value);
}

/// torchvision models/swin_transformer.py, shifted_window_attention; timm models/swin_transformer.py, which
/// calls a fused kernel only after set_fused_attn(experimental=True), swin_transformer_v2.py; transformers
/// modeling_swin.py, SwinSelfAttention.
constexpr const char* separate_windows =
    "the attention of Swin runs in separate kernels although the stack has a fused one: torchvision, timm "
    "and "
    "transformers add the trained bias to its scores themselves; model.swin.attention=flash fuses it";

}  // namespace

bool is_gpu_of_today(const GpuProfile& gpu) {
  constexpr int first_year = 2022;
  return gpu.year.value_or(0) >= first_year;
}

bool has_software_of_today(const ResolvedExperiment& resolved, bool names_optimizer,
                           const std::function<const config::Node&()>& model) {
  const Experiment& settings = resolved.settings;
  if (is_narrow(settings.precision) || settings.sync.kind != SyncKind::all_reduce ||
      !is_gpu_of_today(resolved.gpu))
    return false;
  constexpr std::array with_rules{Optimizer::sgd, Optimizer::momentum, Optimizer::adam};
  const config::Node& file = model();
  Optimizer optimizer = settings.optimizer;
  if (const config::Node* const usual = file.find("optimizer"); usual != nullptr && !names_optimizer)
    optimizer = config::value_named<Optimizer>(usual->scalar).value_or(optimizer);
  return std::ranges::find(with_rules, optimizer) != with_rules.end() && !has_key(file, "sparse");
}

AttentionOfStack attention_of_stack(const ResolvedExperiment& resolved, const config::Node& model) {
  const Stack& stack = resolved.stack;
  const config::Node* const family = model.find("family");
  // diffusers: AttnProcessor2_0 calls scaled_dot_product_attention, AttnProcessor does not.
  constexpr std::array<std::string_view, 6> with_attention{
      "gpt2", "bert", "decoder", "vit", "encoder_decoder", "diffusion_unet"};
  if (!stack.attention || family == nullptr) return {};
  AttentionOfStack result{.key = fmt::format("model.{}.attention", family->scalar), .value = "unfused"};
  bool is_fused = *stack.attention == StackAttention::sdpa;
  if (family->scalar == "swin") {
    const config::Node* const swin = model.find("swin");
    const bool says_kernels = swin != nullptr && swin->find("attention") != nullptr;
    if (is_fused) result = {.key = result.key, .value = {}, .note = says_kernels ? "" : separate_windows};
    return result;
  }
  if (std::ranges::find(with_attention, family->scalar) == with_attention.end()) return {};
  if (resolved.lowering && resolved.lowering->compiler && stack.runtime != Runtime::eager) {
    const auto& separate = resolved.lowering->compiler->separate_attention;
    is_fused = is_fused && std::ranges::find(separate, family->scalar) == separate.end();
  }
  if (is_fused) result.value = "flash";
  return result;
}

}  // namespace trainyard
