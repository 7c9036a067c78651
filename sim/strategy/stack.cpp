#include "strategy/stack.hpp"

#include "config/read.hpp"
#include "strategy/stack_keys.hpp"
#include "workload/make_trace.hpp"

#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

void check_gradient_work(const Stack& stack, config::Problems& problems) {
  for (std::size_t i = 0; i < stack.gradient_work.size(); ++i) {
    const GradientPass& pass = stack.gradient_work[i];
    const std::string key = fmt::format("gradient_work[{}]", i);
    if (pass.name.empty())
      problems.error(key + ".name", "the pass has no name", "name what it does: unscale, norm, clip, copy");
    if (pass.reads + pass.writes <= 0)
      problems.error(key + ".reads", "the pass neither reads nor writes", "leave it out");
    if (stack.reduce_each_micro_batch && pass.ranks == PassRanks::all && pass.when == PassTime::before) {
      problems.error(key + ".when", "a pass before the reduction of every micro-batch is not simulated",
                     "use when: after, or reduce_each_micro_batch: false");
    }
  }
}

void check_layer_work(const Stack& stack, config::Problems& problems) {
  for (std::size_t i = 0; i < stack.layer_work.size(); ++i) {
    const std::string key = fmt::format("layer_work[{}]", i);
    if (stack.layer_work[i].name.empty())
      problems.error(key + ".name", "the work has no name", "name what it does: bias, heads, cast");
    if (stack.layer_work[i].forward + stack.layer_work[i].backward <= 0)
      problems.error(key + ".forward", "the work has neither forward nor backward passes", "leave it out");
  }
}

void check_kept(const Stack& stack, config::Problems& problems) {
  if (!stack.memory) return;
  for (std::size_t i = 0; i < stack.memory->kept.size(); ++i) {
    if (!stack.memory->kept[i].name.empty()) continue;
    problems.error(fmt::format("memory.kept[{}].name", i), "the kept values have no name",
                   "name what they are: mask, tanh, logits");
  }
}

/// Where users find XLA, or PyTorch's compiler in its place.
constexpr const char* instead_of_xla =
    "stack: horovod, horovod_0_20, tf2_mirrored, tf2_bert or oneflow (PyTorch's compiler: pytorch_compile), "
    "or leave out 'xla'; fused_elementwise: true only fuses";

void check_xla(const Stack& stack, config::Problems& problems) {
  if (stack.xla && !stack.with_xla)
    problems.error("xla", fmt::format("the stack {} has no XLA (with_xla)", stack.name), instead_of_xla);
  if (stack.xla && !stack.fused_elementwise && problems.written("fused_elementwise"))
    problems.error("fused_elementwise", "XLA fuses element-wise ops", "leave it out, or xla: false");
  if (!stack.with_xla) return;
  if (stack.with_xla->cycle_time && !stack.fusion)
    problems.error("with_xla.cycle_time", "the stack has no tensor fusion", "leave it out, or set fusion");
  for (const char* const key : {"with_xla.overlap", "with_xla.cycle_time"}) {
    if (!stack.xla && problems.is_set(key)) problems.warning(key, "no effect: XLA is off", "xla: true");
  }
}

/// Keys of one runtime alone.
void check_runtime(const Stack& stack, config::Problems& problems) {
  const bool is_fused = stack.runtime == Runtime::fused;
  if (is_fused && problems.is_set("fp8_scaling"))
    problems.error("fp8_scaling",
                   fmt::format("{} has one scale per tensor: its runtime is fused", stack.name),
                   "leave it out, or stack: transformer_engine, megatron_core or jax_xla");
  if (!is_fused && problems.is_set("products_in_8_bits"))
    problems.error("products_in_8_bits", "rules of the lowering say which products have 8 bits",
                   "leave it out, or runtime: fused");
  for (const char* const key : {"lowering", "optimizer_kernels", "fp8_scaling"}) {
    if (is_fused && problems.written(key))
      problems.warning(key, "no effect: the runtime is fused", "leave it out, or runtime: eager or compiled");
  }
  for (const char* const key : {"fused_elementwise", "layer_work", "with_xla"}) {
    if (!is_fused && problems.written(key))
      problems.error(key, "rules of the lowering say which kernels a layer has",
                     "leave it out, or runtime: fused");
  }
  for (const char* const key : {"memory.kept", "memory.dropout_mask", "memory.pooling_indices"}) {
    if (!is_fused && problems.written(key))
      problems.warning(key, "no effect: rules of the lowering say which tensors a layer keeps",
                       "leave it out, or runtime: fused");
  }
}

/// Keys of units that another key makes void.
void check_units(const Stack& stack, config::Problems& problems) {
  if (stack.units.of != UnitOf::size && problems.is_set("units.unit_parameters"))
    problems.warning("units.unit_parameters", "no effect: units are not made by size", "units.unit: size");
  if (stack.units.live_parameters && problems.is_set("units.limit_gathers"))
    problems.warning("units.limit_gathers", "no effect: live_parameters limits gathers", "leave it out");
  if (stack.units.part && !stack.units.synchronises)
    problems.error("units.part", "only a host that waits for the GPU puts parts together here",
                   "add units.synchronises: true");
  if (stack.units.synchronises && stack.runtime != Runtime::fused)
    problems.error("units.synchronises", "a host that launches kernels one by one is simulated otherwise",
                   "leave it out, or runtime: fused");
}

void validate(const Stack& stack, config::Problems& problems) {
  problems.check_name(stack.name);
  if (stack.servers.partition && stack.servers.spread_above) {
    problems.error("servers.spread_above", "partition and spread_above exclude each other",
                   "keep one of them");
  }
  if (stack.fusion && stack.broadcast_buffers) {
    problems.error("broadcast_buffers", "Horovod broadcasts no buffers in a step",
                   "leave one of the two keys out");
  }
  const bool has_passes = std::ranges::any_of(
      stack.gradient_work, [](const GradientPass& pass) { return pass.ranks == PassRanks::many; });
  if (stack.host_reduction && (stack.fusion || has_passes)) {
    problems.error("host_reduction", "fusion and passes with ranks: many work on the GPU around a collective",
                   "leave one of them out");
  }
  check_runtime(stack, problems);
  check_xla(stack, problems);
  check_gradient_work(stack, problems);
  check_layer_work(stack, problems);
  check_kept(stack, problems);
  check_units(stack, problems);
  if (is_of_hosts(stack.library) && problems.written("nccl")) {
    problems.warning("nccl", fmt::format("no effect: the library is {}", config::name_of(stack.library)),
                     "leave it out, or library: nccl");
  }
  if (!problems.readable("bucket_first") || !problems.readable("bucket_cap")) return;
  for (const auto& [key, size] :
       {std::pair("bucket_first", &stack.bucket_first), std::pair("bucket_cap", &stack.bucket_cap)}) {
    if (!stack.fusion || !*size) continue;
    problems.error(key, "tensor fusion replaces buckets", "set fusion.threshold, or leave out \"fusion\"");
  }
  if (first_bucket(stack) > largest_bucket(stack)) {
    problems.warning("bucket_first", "the first bucket is larger than the others",
                     "use a small first bucket, so that the first all-reduce starts early");
  }
}

void apply_xla(Stack& stack, const config::Document& document) {
  const config::Problems written(document);
  stack.fused_elementwise = true;
  if (stack.with_xla->overlap && !written.is_set("overlap")) stack.overlap = *stack.with_xla->overlap;
  if (stack.with_xla->cycle_time && !written.is_set("fusion") && !written.is_set("fusion.cycle_time"))
    stack.fusion->cycle_time = *stack.with_xla->cycle_time;
}

}  // namespace

Bytes first_bucket(const Stack& stack) {
  constexpr Bytes pytorch{1024.0 * 1024};
  return stack.bucket_first ? stack.bucket_first->value : pytorch;
}

Bytes largest_bucket(const Stack& stack) {
  constexpr Bytes pytorch{25.0 * 1024 * 1024};
  return stack.bucket_cap ? stack.bucket_cap->value : pytorch;
}

bool has_units(const Stack& stack, Sharded shard) {
  const bool is_fsdp =
      stack.units.buffers == UnitBuffers::flat || stack.units.buffers == UnitBuffers::tensors;
  return shard == Sharded::parameters || (shard == Sharded::gradients && is_fsdp);
}

UnitRules unit_rules(const Stack& stack, Sharded shard) {
  UnitRules rules = stack.units;
  if (shard == Sharded::gradients) rules.reshard_after_forward = ReshardAfterForward::never;
  return rules;
}

bool sums_all_gradients(const Stack& stack, Sharded shard) {
  return stack.whole_gradients && shard == Sharded::optimizer;
}

Seconds op_overhead(const Stack& stack) {
  return stack.op_overhead ? stack.op_overhead->value : stack.slowdown.launch;
}

Bytes size_of(GradientDtype dtype, Precision precision) {
  switch (dtype) {
    case GradientDtype::as_computed:
      return element_sizes(precision).gradient;
    case GradientDtype::fp32:
      return Bytes(4);
    case GradientDtype::fp16:
    case GradientDtype::bf16:
      return Bytes(2);
    case GradientDtype::fp16_with_amp:
      return element_sizes(precision).activation;
  }
  return Bytes(4);
}

Stack load_stack(const config::Document& document, std::vector<Diagnostic>* warnings) {
  Stack stack = config::read<Stack>(document, validate, warnings);
  if (stack.xla) apply_xla(stack, document);
  const config::Node* const units = document.root.find("units");
  const bool says_ahead = units != nullptr && units->find("ahead") != nullptr;
  if (!stack.overlap && !says_ahead) stack.units.ahead = GatheredAhead::block;
  const config::Problems written(document);
  if (written.is_set("bucket_first") || written.is_set("bucket_cap")) stack.overlapped_buckets.reset();
  if (stack.fused_elementwise) {
    std::erase_if(stack.layer_work, [](const LayerWork& work) { return work.fusible; });
    std::erase_if(stack.gradient_work, [](const GradientPass& pass) { return pass.fusible; });
  }
  return stack;
}

}  // namespace trainyard
