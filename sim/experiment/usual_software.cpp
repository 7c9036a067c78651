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

}  // namespace

bool has_software_of_today(const ResolvedExperiment& resolved, bool names_optimizer,
                           const std::function<const config::Node&()>& model) {
  constexpr int first_year = 2022;
  const Experiment& settings = resolved.settings;
  if (is_narrow(settings.precision) || settings.sync.kind != SyncKind::all_reduce ||
      resolved.gpu.year.value_or(0) < first_year)
    return false;
  constexpr std::array with_rules{Optimizer::sgd, Optimizer::momentum, Optimizer::adam};
  const config::Node& file = model();
  Optimizer optimizer = settings.optimizer;
  if (const config::Node* const usual = file.find("optimizer"); usual != nullptr && !names_optimizer)
    optimizer = config::value_named<Optimizer>(usual->scalar).value_or(optimizer);
  return std::ranges::find(with_rules, optimizer) != with_rules.end() && !has_key(file, "sparse");
}

std::optional<std::pair<std::string, std::string>> attention_of_stack(const ResolvedExperiment& resolved,
                                                                      const config::Node& model) {
  const Stack& stack = resolved.stack;
  const config::Node* const family = model.find("family");
  constexpr std::array<std::string_view, 5> with_attention{"gpt2", "bert", "decoder", "vit",
                                                           "encoder_decoder"};
  if (!stack.attention || family == nullptr ||
      std::ranges::find(with_attention, family->scalar) == with_attention.end())
    return std::nullopt;
  bool is_fused = *stack.attention == StackAttention::sdpa;
  if (resolved.lowering && resolved.lowering->compiler && stack.runtime != Runtime::eager) {
    const auto& separate = resolved.lowering->compiler->separate_attention;
    is_fused = is_fused && std::ranges::find(separate, family->scalar) == separate.end();
  }
  return std::pair(fmt::format("model.{}.attention", family->scalar), is_fused ? "flash" : "unfused");
}

}  // namespace trainyard
