#include "experiment/eight_bit_stack.hpp"

#include "compute/gpu_profile.hpp"
#include "lowering/lowering_rules.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr const char* scaling_key = "stack.fp8_scaling";

/// Hopper's. Source: NVIDIA/TransformerEngine, transformer_engine/pytorch/quantization.py,
/// check_fp8_block_scaling_support: 9.0 and higher.
constexpr int first_with_blocks = 90;

bool has_8_bits(const ResolvedExperiment& resolved) {
  return resolved.lowering ? trainyard::has_8_bits(*resolved.lowering) : resolved.stack.products_in_8_bits;
}

}  // namespace

void require_8_bits_of_stack(const ResolvedExperiment& resolved) {
  if (!is_narrow(resolved.settings.precision) || !resolved.settings.model) return;
  const bool needs_4_bits = resolved.settings.precision == Precision::nvfp4;
  if (needs_4_bits && resolved.lowering && !has_4_bits(*resolved.lowering))
    throw InputError(fmt::format("{} has no products in 4 bits", resolved.stack.name),
                     "precision: mxfp8, or stack: transformer_engine, megatron_core or megatron_lm");
  if (has_8_bits(resolved)) return;
  throw InputError(
      fmt::format("{} has no products in 8 bits", resolved.stack.name),
      fmt::format("precision: bf16, or stack: megatron_lm, megatron_core, transformer_engine, torchtitan, "
                  "mosaic or jax_xla{}",
                  resolved.lowering ? ""
                                    : "; stack.products_in_8_bits=true if its layers are Transformer "
                                      "Engine's or torchao's"));
}

std::optional<Diagnostic> unused_scales(const ResolvedExperiment& resolved, const FileOverrides& set) {
  const auto given = set.find(scaling_key);
  if (given == set.end()) return std::nullopt;
  Diagnostic problem = given->second.written_at.value_or(Diagnostic{});
  problem.key_path = scaling_key;
  const int capability = compute_capability(resolved.gpu);
  if (resolved.settings.precision != Precision::fp8) {
    problem.message = fmt::format("no effect in precision {}", config::name_of(resolved.settings.precision));
    problem.hint = "precision: fp8, or leave it out";
  } else if (resolved.stack.fp8_scaling == Scaling::block && capability > 0 &&
             capability < first_with_blocks) {
    problem.message = fmt::format("{} has no products with scales of blocks", resolved.gpu.name);
    problem.hint = "delayed or current; block needs Hopper or Blackwell";
  } else {
    return std::nullopt;
  }
  return problem;
}

}  // namespace trainyard
