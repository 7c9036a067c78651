#include "config/document.hpp"
#include "config/fields.hpp"
#include "config/plain_text.hpp"
#include "config/read_file.hpp"
#include "jobs/meaning.hpp"
#include "jobs/optimizer_meaning.hpp"
#include "jobs/words.hpp"
#include "strategy/routing.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {
namespace {

/// Software without a stack of its own, with the nearest one and the differences.
struct NearestStack {
  Tool tool;
  std::string_view stack, reason;
};

constexpr std::array nearest_stacks{NearestStack{
    Tool::torchtune, "torchtitan", "torchtune has no stack; FSDP2 of PyTorch is that of torchtitan"}};

class SoftwareUse {
public:
  SoftwareUse(JobDraft& draft, Tool tool, const config::Catalogue& catalogue)
      : draft_(draft), tool_(tool), catalogue_(catalogue) {}

  void complete() {
    take_distribution();
    choose_stack();
    draft_.ignore("@fsdp_version");
    take_precision();
    take_optimizer(draft_, tool_);
    take_communication();
    take_rest();
  }

private:
  /// accelerate's distributed_type, and the names of DeepSpeed's and FSDP's files.
  void take_distribution() {
    const std::string kind = small_letters(draft_.text("@distributed").value_or(""));
    if (kind.starts_with("fsdp")) {
      if (kind != "fsdp") draft_.set("@fsdp_version", "2");  // of LLaMA-Factory
      if (!draft_.has("parallelism.shard")) draft_.become("@distributed", "parallelism.shard", "parameters");
      draft_.become("@distributed", "stack", "pytorch_fsdp");
      take_fsdp2();
    } else if (kind.starts_with("deepspeed")) {
      constexpr std::array stages{Meaning{"deepspeed_stage_1", "optimizer"},
                                  Meaning{"deepspeed_stage_2", "gradients"},
                                  Meaning{"deepspeed_stage_3", "parameters"}};  // of Lightning
      if (const auto shard = meaning_of(stages, kind))
        draft_.become("@distributed", "parallelism.shard", std::string(*shard));
      draft_.become("@distributed", "stack", "deepspeed");
    } else if (kind == "megatron_lm") {
      draft_.become("@distributed", "stack", "megatron_lm");
    } else if (kind == "multi_cpu") {
      draft_.differ("@distributed", "GPUs compute here: a real step is longer");
    } else if (kind == "tpu" || kind == "xla" || kind == "mps" ||
               (kind.starts_with("multi_") && kind != "multi_gpu")) {
      draft_.unknown("@distributed", fmt::format("is {}, which is not simulated: GPUs compute here",
                                                 in_quotes(*draft_.text("@distributed"))));
    } else if (draft_.has("@distributed")) {
      draft_.ignore("@distributed");
    }
  }

  void take_fsdp2() {
    if (draft_.text("@fsdp_version") == "2")
      draft_.assume_from("@fsdp_version", "stack", "torchtitan",
                         "PyTorch's FSDP2 has no stack of its own; torchtitan shards with it");
  }

  void choose_stack() {
    if (draft_.has("stack")) return;
    const auto nearest = std::ranges::find(nearest_stacks, tool_, &NearestStack::tool);
    if (nearest != nearest_stacks.end()) {
      draft_.assume("stack", std::string(nearest->stack), std::string(nearest->reason));
      return;
    }
    switch (tool_) {
      case Tool::megatron:
      case Tool::nemo:
        choose_megatron();
        return;
      case Tool::torchtitan:
        draft_.set("stack", "torchtitan");
        return;
      case Tool::deepspeed:
        draft_.set("stack", "deepspeed");
        return;
      case Tool::maxtext:
        draft_.set("stack", "jax_xla");
        return;
      case Tool::nanotron:
        draft_.set("stack", "nanotron");
        return;
      case Tool::llmc:
        draft_.set("stack", "llm_c");
        return;
      case Tool::trainer:
      case Tool::accelerate:
        if (draft_.has("@has_deepspeed"))
          draft_.set("stack", "deepspeed");
        else if (const auto shard = draft_.text("parallelism.shard");
                 shard && *shard != "none" && *shard != "0")
          draft_.set("stack", "pytorch_fsdp"), take_fsdp2();
        else
          draft_.set("stack", draft_.has("@compile") || is_compiled() ? "pytorch_compile" : "pytorch");
        return;
      default:
        return;
    }
  }

  [[nodiscard]] bool is_compiled() const {
    return small_letters(draft_.text("@dynamo").value_or("no")) != "no";
  }

  void choose_megatron() {
    const std::string implementation = small_letters(draft_.text("@implementation").value_or(""));
    const bool has_engine =
        draft_.has("@engine") && draft_.text("@engine") != "false" && draft_.text("@engine") != "False";
    if (implementation == "local") {
      draft_.become("@implementation", "stack", "megatron_lm");
    } else if (implementation == "transformer_engine") {
      draft_.become("@implementation", "stack", "megatron_core");
    } else if (has_engine) {
      draft_.become("@engine", "stack", "megatron_core");
    } else if (tool_ == Tool::nemo) {
      draft_.assume("stack", "megatron_core", "NeMo trains with Megatron-Core and Transformer Engine");
    } else {
      draft_.assume("stack", "megatron_core",
                    "Transformer Engine is Megatron-LM's default (transformer_config.py, transformer_impl)");
    }
    draft_.ignore("@implementation");
    draft_.ignore("@engine");
    draft_.ignore("@tokenizer");
    draft_.ignore("@tokenizer_model");
  }

  /// Autocast keeps fp32 weights, except where the software has copies in 16 bits: FSDP and DeepSpeed.
  void take_precision() {
    if (const auto type = draft_.text("@mixed_precision")) {
      const std::string word = small_letters(*type);
      const std::string stack = draft_.text("stack").value_or("");
      const bool has_copies = stack == "deepspeed" || stack == "pytorch_fsdp" || stack == "torchtitan";
      if (contains(word, "bf16"))
        draft_.become("@mixed_precision", "precision", has_copies ? "bf16" : "amp_bf16");
      else if (contains(word, "fp16"))
        draft_.become("@mixed_precision", "precision", has_copies ? "fp16" : "amp");
      else if (const auto narrow = narrow_precision(word))
        draft_.become("@mixed_precision", "precision", *narrow);
      else
        draft_.become("@mixed_precision", "precision", "fp32");
    }
    if (const auto text = draft_.text("@precision"))
      draft_.become("@precision", "precision", precision_in(*text));
    take_weights();
    take_auto_precision();
    for (const std::string_view name : {"@dtype", "@param_dtype"}) {
      const auto text = draft_.text(name);
      if (!text) continue;
      const bool is_16_bits = contains(*text, "16");
      if (draft_.text("precision") == "pure_bf16") continue;  // the weights' type
      const bool is_pure = name == "@dtype" && tool_ == Tool::torchtune && is_16_bits;
      draft_.become(name, "precision", is_pure ? "pure_bf16" : is_16_bits ? "bf16" : "fp32");
    }
    if (tool_ == Tool::torchtitan)
      draft_.assume("precision", "bf16", "torchtitan's default: parameters are gathered in bfloat16");
    if (tool_ == Tool::maxtext) draft_.assume("precision", "bf16", "MaxText's default");
    if (tool_ == Tool::nemo)
      draft_.assume("precision", "bf16", "NeMo's and Megatron-Bridge's recipes compute in it");
    if (const auto format = draft_.text("@fp8")) {
      if (is_off({.key = {}, .value = *format, .file = {}}))
        draft_.ignore("@fp8");
      else
        draft_.become("@fp8", "precision", "fp8");
    }
    take_recipe();
    for (const std::string_view name : {"@quantization", "@converters"}) {
      const auto text = draft_.text(name);
      if (!text) continue;
      if (const auto narrow = narrow_precision(small_letters(*text)))
        draft_.become(name, "precision", *narrow);
      else if (contains(*text, "int8") || contains(*text, "mx") || contains(*text, "4"))
        draft_.differ(name, "products of fewer bits are not simulated: a real step is shorter");
      else
        draft_.ignore(name);
    }
    if (draft_.has("@tf32") && !draft_.has("precision")) draft_.become("@tf32", "precision", "tf32");
    draft_.ignore("@tf32");
    draft_.ignore("@weights");
    if (tool_ == Tool::llmc) draft_.assume("precision", "bf16", "llm.c's default");
    draft_.assume("precision", "fp32", "the job names no number format");
    if (narrow_precision(draft_.text("precision").value_or(""))) require_8_bits();
  }

  /// Scales of blocks, and numbers of 4 bits: the recipes of Transformer Engine.
  void take_recipe() {
    if (const auto recipe = draft_.text("@fp8_recipe"); recipe && draft_.text("precision") == "fp8") {
      if (narrow_precision(small_letters(*recipe)) == "mxfp8")
        draft_.become("@fp8_recipe", "precision", "mxfp8");
    }
    const auto format = draft_.text("@fp4");
    if (format && !is_off({.key = {}, .value = *format, .file = {}}))
      draft_.become("@fp4", "precision", "nvfp4");
    draft_.ignore("@fp4");
    if (const auto recipe = draft_.text("@fp4_recipe"); recipe && small_letters(*recipe) != "nvfp4" && format)
      draft_.differ("@fp4_recipe", "4-bit products have the recipe nvfp4 here: a real step differs");
    draft_.ignore("@fp4_recipe");
  }

  /// The type of products in 8 bits or fewer that a word names: "bf16_with_mxfp8_mixed", "te_fp8".
  static std::optional<std::string> narrow_precision(std::string_view word) {
    if (contains(word, "nvfp4")) return "nvfp4";
    if (contains(word, "mxfp8")) return "mxfp8";
    if (contains(word, "fp8") || contains(word, "float8")) return "fp8";
    return std::nullopt;
  }

  /// Weights that are loaded in bfloat16 and trained by plain PyTorch have gradients and a state in bfloat16,
  /// with autocast as well. FSDP and DeepSpeed keep a copy in fp32 if mixed precision is on.
  void take_weights() {
    const auto text = draft_.text("@weights");
    if (!text) return;
    const std::string word = small_letters(*text);
    const std::string stack = draft_.text("stack").value_or("");
    const bool has_copies = stack == "deepspeed" || stack == "pytorch_fsdp" ||
                            (stack == "torchtitan" && tool_ != Tool::maxtext && tool_ != Tool::torchtitan);
    const bool is_mixed = draft_.has("precision") || draft_.has("@auto_mixed_precision");
    if (contains(word, "bf16") || contains(word, "bfloat16")) {
      if (!has_copies || !is_mixed) draft_.become("@weights", "precision", "pure_bf16");
    } else if (contains(word, "16") && !is_mixed) {
      draft_.become("@weights", "precision", "fp16");
      draft_.warn(
          "weights in fp16 without a copy in fp32: precision fp16 here has one, and needs more memory");
    }
  }

  /// "auto": the Trainer's tools take bfloat16 where the GPU has it; DeepSpeed takes its caller's.
  void take_auto_precision() {
    for (const std::string_view name : {"@auto_mixed_precision", "@auto_precision"}) {
      const bool is_caller_known = name == "@auto_precision" && tool_ != Tool::deepspeed;
      if (!draft_.has(name) || draft_.has("precision") || is_caller_known) {
        draft_.ignore(name);
        continue;
      }
      const std::string stack = draft_.text("stack").value_or("");
      const bool has_copies = stack == "deepspeed" || stack == "pytorch_fsdp" || stack == "torchtitan";
      draft_.assume_from(name, "precision", has_copies ? "bf16" : "amp_bf16",
                         name == "@auto_precision" ? "the file leaves it to its caller; bfloat16 is usual"
                                                   : "'auto' is bfloat16 on GPUs from Ampere on");
    }
  }

  /// Whether a stack has products in 8 bits: by its key, or by the rules of its lowering and those that they
  /// are like, which then have a condition for them. Nothing: a fused one has none of its own.
  [[nodiscard]] std::optional<bool> has_8_bits(const std::string& stack) const {
    const auto name_in = [&](config::Kind kind, const std::string& file, std::string_view key) {
      const config::Document document = config::load(config::find(catalogue_, kind, file));
      const config::Node* const value = document.root.find(key);
      return value == nullptr ? std::string() : value->scalar;
    };
    std::string lowering = name_in(config::Kind::stack, stack, "lowering");
    if (lowering.empty())
      return name_in(config::Kind::stack, stack, "products_in_8_bits") == "true" ? std::optional(true)
                                                                                 : std::nullopt;
    for (; !lowering.empty(); lowering = name_in(config::Kind::lowering, lowering, "like")) {
      const auto file = config::find(catalogue_, config::Kind::lowering, lowering);
      if (contains(config::read_file(file, config::largest_file), "in_8_bits")) return true;
    }
    return false;
  }

  void require_8_bits() {
    const std::string stack = draft_.text("stack").value_or("");
    const std::optional<bool> can = has_8_bits(stack);
    if (can.value_or(false)) return;
    if (!can) {  // Transformer Engine or torchao puts other layers into the model
      draft_.set("stack.products_in_8_bits", "true");
      return;
    }
    if (tool_ == Tool::megatron || tool_ == Tool::nemo) {
      draft_.replace("stack", "megatron_lm", fmt::format("{} has no products in 8 bits here", stack));
      return;
    }
    for (const std::string_view name :
         {"@fp8", "@fp8_recipe", "@fp4", "@quantization", "@converters", "@mixed_precision", "@precision"}) {
      if (draft_.has(name))
        draft_.differ(name, fmt::format("{} has no products in 8 bits here: {}", stack, shorter));
    }
    draft_.set("precision", "bf16");
  }

  /// "bf16-mixed", 16, "bf16_with_fp8_delayed_scaling_mixed".
  static std::string precision_in(const std::string& text) {
    const std::string word = small_letters(text);
    if (auto narrow = narrow_precision(word)) return *std::move(narrow);
    if (contains(word, "bf16") || contains(word, "bfloat16")) return word == "pure_bf16" ? word : "bf16";
    if (word == "amp") return word;
    return contains(word, "16") ? "fp16" : "fp32";
  }

  void take_communication() {
    const bool has_units = draft_.text("parallelism.shard") == "parameters";
    if (const auto text = draft_.text("@overlap_comm")) {  // off for stages 1 and 2, on for stage 3
      const bool overlaps = !is_off({.key = {}, .value = *text, .file = {}});
      if (has_units || overlaps) draft_.become("@overlap_comm", "stack.overlap", overlaps ? "true" : "false");
      draft_.ignore("@overlap_comm");
    }
    if (draft_.has("@fp32_gradients")) draft_.become("@fp32_gradients", "stack.gradient_dtype", "fp32");
    if (const auto type = draft_.text("@reduce_dtype")) {
      if (contains(*type, "32"))
        draft_.become("@reduce_dtype", "stack.gradient_dtype", "fp32");
      else
        draft_.become("@reduce_dtype", "stack.gradient_dtype", "as_computed");
    }
    if (const auto values = draft_.text("@reduce_bucket")) {
      const Parsed<double> count = parse_number(*values);
      if (count && *count >= 0) {
        // 0: each gradient fills a bucket
        const double values_of_bucket = std::max(*count, 1.0);
        const bool is_16_bits = draft_.text("precision") != "fp32" && draft_.text("precision") != "tf32";
        const std::string size = fmt::format("{} MB", values_of_bucket * (is_16_bits ? 2 : 4) / 1e6);
        draft_.become("@reduce_bucket", "stack.bucket_first", size);
        draft_.become("@reduce_bucket", "stack.bucket_cap", size);
        if (has_units)
          draft_.become("@reduce_bucket", "stack.units.reduced_parameters",
                        fmt::format("{:.0f}", values_of_bucket));
      }
    }
    if (const auto size = draft_.text("@bucket_mb")) {
      for (const char* const key : {"stack.bucket_first", "stack.bucket_cap"})
        draft_.become("@bucket_mb", key, *size + " MB");
    }
    if (const auto values = draft_.number("@bucket_values")) {
      draft_.become("@bucket_values", "stack.bucket_first",
                    fmt::format("{} MB", 4e-6 * static_cast<double>(*values)));
      draft_.become("@bucket_values", "stack.bucket_cap",
                    fmt::format("{} MB", 4e-6 * static_cast<double>(*values)));
    }
    if (!has_units && draft_.text("stack.overlap") && draft_.text("stack.overlap") != "true")
      draft_.drop("stack.overlap");
  }

  /// Clipping by the norm: a limit of 0 is none. The stacks of plain PyTorch have none, the others do.
  void take_clipping() {
    const auto text = draft_.text("@clip");
    if (!text) return;
    const Parsed<double> limit = parse_number(*text);
    if (!limit) {
      draft_.fail("@clip",
                  fmt::format("a limit of the gradients' norm is a number, not {}", in_quotes(*text)));
      return;
    }
    const std::string stack = draft_.text("stack").value_or("");
    const bool clips_by_itself = !stack.starts_with("pytorch");
    if ((*limit > 0) != clips_by_itself)
      draft_.become("@clip", "stack.clip_gradients", *limit > 0 ? "true" : "false");
    else
      draft_.ignore("@clip");
  }

  void take_data_parallel() {
    const std::string stack = draft_.text("stack").value_or("");
    const bool is_ddp = stack == "pytorch" || stack == "pytorch_compile";
    if (const auto size = draft_.text("@bucket_mb"); size && is_ddp)
      draft_.become("@bucket_mb", "stack.bucket_cap", *size + " MiB");
    draft_.ignore("@bucket_mb");
  }

  /// How FSDP and ZeRO-3 gather parameters unit by unit.
  void take_units() {
    const std::string stack = draft_.text("stack").value_or("");
    if (stack == "megatron_core" && draft_.has("parallelism.recompute_layers")) {  // it has a lowering
      draft_.drop("parallelism.recompute_layers");
      draft_.differ("@recomputed_layers",
                    "all layers are recomputed here: a real step is shorter and needs more memory");
    }
    const bool is_flat = stack == "pytorch_fsdp";
    const bool is_zero = stack == "deepspeed" && draft_.text("parallelism.shard") == "parameters";
    const auto take = [&](bool is_used, std::string_view name, const char* key, const std::string& value) {
      if (is_used)
        draft_.become(name, key, value);
      else
        draft_.ignore(name);
    };
    if (const auto word = draft_.text("@backward_prefetch")) {
      const std::string name = small_letters(*word);
      take(is_flat, "@backward_prefetch", "stack.units.backward_prefetch",
           name.ends_with("pre") ? "pre" : (name.ends_with("post") ? "post" : "none"));
    }
    for (const auto& [name, key] : {std::pair("@forward_prefetch", "stack.units.forward_prefetch"),
                                    std::pair("@limit_gathers", "stack.units.limit_gathers")}) {
      if (const auto word = draft_.text(name))
        take(is_flat, name, key, small_letters(*word) == "true" ? "true" : "false");
    }
    take_wrapping(is_flat);
    take_unit_sizes(is_zero);
  }

  /// Units by size or none; those of a class of layers are blocks.
  void take_wrapping(bool is_flat) {
    const std::string policy = small_letters(draft_.text("@wrap").value_or(""));
    const auto least = draft_.number("@unit_parameters");
    const bool is_by_size = policy.starts_with("size") || (policy.empty() && least && *least > 0);
    if (is_flat && is_by_size)
      draft_.become(policy.empty() ? "@unit_parameters" : "@wrap", "stack.units.unit", "size");
    else if (is_flat && policy.starts_with("no"))
      draft_.become("@wrap", "stack.units.unit", "model");
    draft_.ignore("@wrap");
    if (is_flat && is_by_size && least && *least > 0)
      draft_.become("@unit_parameters", "stack.units.unit_parameters", std::to_string(*least));
    draft_.ignore("@unit_parameters");
  }

  /// Numbers of parameters; "auto" is left to the stack.
  void take_unit_sizes(bool is_zero) {
    struct Size {
      std::string_view name;
      const char* key;
      double least;
    };
    for (const auto& [name, key, least] : {Size{"@prefetch_bucket", "stack.units.unit_parameters", 1},
                                           Size{"@live_parameters", "stack.units.live_parameters", 1},
                                           Size{"@whole_below", "stack.units.whole_below", 0}}) {
      const std::optional<double> count = parameters_in(name);
      if (is_zero && count) draft_.become(name, key, fmt::format("{:.0f}", std::max(*count, least)));
      draft_.ignore(name);
    }
    if (is_zero) take_reuse_distance();
    draft_.ignore("@reuse_distance");
  }

  [[nodiscard]] std::optional<double> parameters_in(std::string_view name) const {
    const auto text = draft_.text(name);
    if (!text) return std::nullopt;
    const Parsed<double> count = parse_number(*text);
    return count && *count >= 0 ? std::optional(*count) : std::nullopt;
  }

  /// One number limits the parameters that are whole and the distance to their next use: live_parameters.
  void take_reuse_distance() {
    const std::optional<double> distance = parameters_in("@reuse_distance");
    constexpr double usual = 1e9;  // deepspeed/runtime/zero/config.py, of both
    const double live = parameters_in("@live_parameters").value_or(usual);
    if (!distance || *distance == live) return;
    if (*distance < live)
      draft_.differ("@reuse_distance", fmt::format("parameters that are used again within {:.0f} others stay "
                                                   "whole here, as max_live_parameters says: {}",
                                                   live, longer_and_less_memory));
    else
      draft_.differ("@reuse_distance", fmt::format("parameters that are used again after more than {:.0f} "
                                                   "others are gathered again here, as max_live_parameters "
                                                   "says: a real step is shorter and needs more memory",
                                                   live));
  }

  /// How tokens reach their experts. Megatron-LM's own default is the all-gather; the recipes of other tools
  /// state another.
  void take_dispatcher() {
    take_exchange();
    const auto dispatcher = draft_.text("parallelism.dispatcher");
    const auto sent_once = dispatcher ? config::value_named<TokenDispatcher>(*dispatcher) : std::nullopt;
    if (sent_once == TokenDispatcher::deepep) {  // others send as much whatever the groups are
      if (const auto groups = draft_.text("@expert_groups"))
        draft_.become("@expert_groups", "parallelism.routing.groups", *groups);
      if (const auto limit = draft_.text("@group_limit"))
        draft_.become("@group_limit", "parallelism.routing.group_limit", *limit);
    }
    draft_.ignore("@expert_groups");
    draft_.ignore("@group_limit");
  }

  void take_exchange() {
    const bool has_exchange = draft_.number("parallelism.expert").value_or(1) > 1 &&
                              draft_.number("model.decoder.experts").value_or(0) > 1;
    if (!has_exchange) {
      for (const std::string_view name : {"@dispatcher", "@shared_overlap", "@exchange_overlap"})
        draft_.ignore(name);
      return;
    }
    if (const auto dispatcher = draft_.text("@dispatcher"))
      draft_.become("@dispatcher", "parallelism.dispatcher", small_letters(*dispatcher));
    else if (tool_ == Tool::megatron)
      draft_.assume_setting("parallelism.dispatcher", "moe_token_dispatcher_type", "allgather",
                            "Megatron-Core's default (transformer_config.py)");
    const bool has_shared = draft_.number("model.decoder.shared_expert_ffn").value_or(0) > 0;
    const bool has_pairs = draft_.number("parallelism.pipeline").value_or(1) == 1 ||
                           draft_.number("parallelism.virtual_stages").value_or(1) > 1;
    if (draft_.text("@exchange_overlap") == "true" && has_pairs)
      draft_.become("@exchange_overlap", "parallelism.expert_overlap", "micro_batches");
    else if (draft_.text("@shared_overlap") == "true" && has_shared)
      draft_.become("@shared_overlap", "parallelism.expert_overlap", "shared_experts");
    draft_.ignore("@exchange_overlap");
    draft_.ignore("@shared_overlap");
  }

  void take_rest() {
    take_clipping();
    take_units();
    take_data_parallel();
    if (const auto recipe = draft_.text("@fp8_recipe")) {
      const std::string word = small_letters(*recipe);
      if (word == "delayed" || word == "tensorwise" || word == "rowwise" || word == "mxfp8")
        draft_.ignore("@fp8_recipe");
      else
        draft_.differ("@fp8_recipe", "8-bit products have one scale per tensor here: a real step is longer");
    }
    if (draft_.text("@amp_o2") == "false")
      draft_.differ("@amp_o2",
                    "weights and gradients have 16 bits here: a real step is longer and needs more "
                    "memory");
    draft_.ignore("@amp_o2");
    take_dispatcher();
    if (const auto target = draft_.text("@offload")) {
      if (*target == "none")
        draft_.ignore("@offload");
      else
        draft_.differ("@offload", std::string(longer_and_less_memory));
    }
    if (draft_.has("@compile") || is_compiled()) {
      for (const std::string_view name : {"@compile", "@dynamo"}) {
        if (draft_.text("stack") == "pytorch_compile")
          draft_.become(name, "stack", "pytorch_compile");
        else
          draft_.differ(name, std::string(shorter));
      }
    }
    draft_.ignore("@dynamo");
    const std::string method = small_letters(draft_.text("@finetuning").value_or("full"));
    if (method == "full" || method == "none")
      draft_.ignore("@finetuning");
    else
      draft_.differ("@finetuning",
                    "every parameter is trained here: a real step is shorter and needs less memory");
    const std::string stage = small_letters(draft_.text("@stage_of_training").value_or("sft"));
    if (stage == "sft" || stage == "pt")
      draft_.ignore("@stage_of_training");
    else
      draft_.differ("@stage_of_training",
                    "learning from preferences has further forward passes: a real step is longer and needs "
                    "more memory");
    if (const auto steps = draft_.number("@steps"); steps && *steps > 0)
      draft_.become("@steps", "job.steps", std::to_string(*steps));
    else
      draft_.ignore("@steps");
    if (draft_.has("@reshard")) {
      if (draft_.text("@reshard") == "never" && draft_.text("parallelism.shard") == "parameters")
        draft_.become("@reshard", "parallelism.shard", "gradients");
      else
        draft_.ignore("@reshard");
    }
    if (draft_.has("@capacity_factor")) {
      const Parsed<double> factor = parse_number(*draft_.text("@capacity_factor"));
      if (factor && *factor > 0)
        draft_.become("@capacity_factor", "parallelism.routing.capacity_factor",
                      *draft_.text("@capacity_factor"));
      else
        draft_.ignore("@capacity_factor");
    }
    draft_.ignore("@gpu_name");
    if (const auto rank = draft_.number("@lora_dim"); rank && *rank > 0)
      draft_.differ("@lora_dim",
                    "every parameter is trained here: a real step is shorter and needs less memory");
    else
      draft_.ignore("@lora_dim");
    if (draft_.has("@fabric"))
      draft_.warn(
          "Lightning Fabric has no stack of its own: it starts DDP, FSDP or DeepSpeed, and adds no work "
          "to a step");
    draft_.ignore("@none");
  }

  JobDraft& draft_;
  Tool tool_;
  const config::Catalogue& catalogue_;
};

}  // namespace

void complete_software(JobDraft& draft, Tool tool, const config::Catalogue& catalogue) {
  SoftwareUse(draft, tool, catalogue).complete();
}

}  // namespace trainyard::jobs
