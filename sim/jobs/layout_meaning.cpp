#include "jobs/meaning.hpp"
#include "jobs/words.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace trainyard::jobs {
namespace {

class Layout {
public:
  Layout(JobDraft& draft, Tool tool) : draft_(draft), tool_(tool) {}

  void complete() {
    count_gpus();
    take_degrees();
    shard_by_words();
    shard_by_degrees();
    assume_context_exchange();
    take_pipeline();
    compare_with_sizes();
    take_sequence_parallelism();
    take_expert_division();
    take_shards_of_pipeline();
    take_recomputation();
    take_context_exchange();
    take_batches();
  }

private:
  /// Slurm counts tasks: one for each GPU, unless torchrun starts them.
  void count_gpus() {
    if (const auto tasks = draft_.number("@tasks_per_node"); tasks && !draft_.has("gpus_per_node"))
      for (const char* const name : {"@tasks_per_node", "@gpus_per_task"})
        draft_.become(name, "gpus_per_node",
                      std::to_string(*tasks * draft_.number("@gpus_per_task").value_or(1)));
    else
      draft_.ignore("@tasks_per_node");
    if (const auto tasks = draft_.number("@tasks");
        tasks && !draft_.has("gpus") && !draft_.has("gpus_per_node"))
      for (const char* const name : {"@tasks", "@gpus_per_task"})
        draft_.become(name, "gpus", std::to_string(*tasks * draft_.number("@gpus_per_task").value_or(1)));
    else
      draft_.ignore("@tasks");
    draft_.ignore("@gpus_per_task");
    const auto nodes = draft_.number("nodes");
    const auto gpus = draft_.number("gpus");
    if (const auto on_node = draft_.number("gpus_per_node");
        nodes && on_node && gpus && *gpus != *nodes * *on_node)
      draft_.warn(
          fmt::format("the job names {} GPUs, and {} nodes with {} GPUs each", *gpus, *nodes, *on_node));
    if (nodes && gpus && *gpus % *nodes != 0 && !draft_.has("gpus_per_node"))
      draft_.fail("gpus", fmt::format("{} GPUs do not divide evenly into {} nodes", *gpus, *nodes));
    if (nodes && gpus && *gpus % *nodes == 0 && !draft_.has("gpus_per_node"))
      draft_.set("gpus_per_node", std::to_string(*gpus / *nodes));
    if (draft_.has("gpus_per_node") && (nodes || !gpus)) draft_.drop("gpus");
    if (const auto replicas = draft_.number("@replicas"); replicas && *replicas > 0 && !gpus)
      draft_.become("@replicas", "gpus", std::to_string(*replicas * ranks_of_replica()));
    draft_.ignore("@replicas");
    if (draft_.has("gpus_per_node") && !nodes && gpus)
      draft_.set("nodes", std::to_string(std::max(1LL, *gpus / *draft_.number("gpus_per_node"))));
  }

  /// Degrees of MaxText inside and between nodes multiply; draft.hpp keeps the last, so they are added up
  /// here by their account.
  void take_degrees() {
    constexpr std::array names{
        Meaning{"@tensor_degree", "parallelism.tensor"}, Meaning{"@pipeline_degree", "parallelism.pipeline"},
        Meaning{"@context_degree", "parallelism.context"}, Meaning{"@expert_degree", "parallelism.expert"}};
    for (const auto& [name, key] : names) {
      const long long degree = product_of(name);
      if (degree > 1)
        draft_.become(name, key, std::to_string(degree));
      else
        draft_.ignore(name);
    }
  }

  /// The product of all settings under a name; -1 stands for the GPUs that remain.
  long long product_of(std::string_view name) {
    long long product = 1;
    for (const std::string& value : draft_.all(name)) {
      const Parsed<long long> whole = parse_integer(value);
      if (whole && std::abs(product) <= largest_product) product *= *whole;
    }
    if (std::abs(product) > largest_product)
      draft_.fail(name, fmt::format("the degrees of this axis multiply to more than {}", largest_product));
    return product;
  }

  static constexpr long long largest_product = 10'000'000;  ///< of a job's ranks, as the key gpus

  void shard_by_words() {
    constexpr std::array stages{Meaning{"0", "none"}, Meaning{"1", "optimizer"}, Meaning{"2", "gradients"},
                                Meaning{"3", "parameters"}};
    if (const auto stage = meaning_of(stages, draft_.text("parallelism.shard").value_or("")))
      draft_.set("parallelism.shard", std::string(*stage));
    constexpr std::array<std::string_view, 4> parts{"none", "optimizer", "gradients", "parameters"};
    if (const auto part = draft_.text("parallelism.shard");
        part && std::ranges::find(parts, *part) == parts.end())
      draft_.fail("parallelism.shard",
                  fmt::format("the stages of ZeRO are 0, 1, 2 and 3, not {}", in_quotes(*part)));
    if (const auto text = draft_.text("@fsdp_words")) take_fsdp_words(small_letters(*text));
    for (const std::string_view name : {"@fsdp_strategy", "@fsdp_part"}) {
      const auto text = draft_.text(name);
      if (text && !take_sharding(name, small_letters(*text)))
        draft_.unknown(name, fmt::format("has the value {}, which is not known", in_quotes(*text)));
    }
    if (const auto degree = draft_.number("@autotp"))
      draft_.become("@autotp", "parallelism.tensor", std::to_string(*degree));
    if (const auto partition = draft_.number("@hpz"); partition && *partition > 1)
      draft_.differ("@hpz",
                    "each node has no second copy of the parameters here: a real step is shorter and needs "
                    "more memory");
  }

  /// Whether the word of FSDP is known.
  bool take_sharding(std::string_view name, std::string_view word) {
    constexpr std::array words{Meaning{"1", "parameters"},
                               Meaning{"full_shard", "parameters"},
                               Meaning{"true", "parameters"},
                               Meaning{"2", "gradients"},
                               Meaning{"shard_grad_op", "gradients"},
                               Meaning{"false", "gradients"},
                               Meaning{"3", "none"},
                               Meaning{"no_shard", "none"},
                               Meaning{"4", "parameters"},
                               Meaning{"hybrid_shard", "parameters"},
                               Meaning{"5", "gradients"},
                               Meaning{"hybrid_shard_zero2", "gradients"},
                               Meaning{"optim_grads_params", "parameters"},
                               Meaning{"optim_grads", "gradients"},
                               Meaning{"optim", "optimizer"}};
    const auto shard = meaning_of(words, word);
    if (!shard) return false;
    draft_.become(name, "parallelism.shard", std::string(*shard));
    if (word.starts_with("hybrid") || word == "4" || word == "5")
      draft_.become(name, "parallelism.shard_over", "node");
    return true;
  }

  /// "full_shard auto_wrap offload"
  void take_fsdp_words(const std::string& list) {
    bool is_sharded = false;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t begin = std::min(list.find_first_not_of(" ,[]'\"", at), list.size());
      at = std::min(list.find_first_of(" ,[]'\"", begin), list.size());
      const std::string_view word = std::string_view(list).substr(begin, at - begin);
      is_sharded = take_sharding("@fsdp_words", word) || is_sharded;
      if (word == "offload")
        draft_.warn(fmt::format("{} moves state to the host: {}", in_quotes(list), longer_and_less_memory));
    }
    if (!is_sharded) draft_.become("@fsdp_words", "parallelism.shard", "parameters");
  }

  /// Replicas that hold copies, times replicas that divide the state.
  void shard_by_degrees() {
    const bool is_given = draft_.has("@shard_degree") || draft_.has("@replicate_degree");
    const bool shards_by_default =
        tool_ == Tool::torchtitan || tool_ == Tool::torchtune || tool_ == Tool::maxtext;
    if (!is_given) {
      if (shards_by_default)
        draft_.assume("parallelism.shard", "parameters", "FSDP over all GPUs is the default of the tool");
      return;
    }
    const long long copies = product_of("@replicate_degree");
    const long long parts =
        draft_.has("@shard_degree") ? product_of("@shard_degree") : (shards_by_default ? -1 : 1);
    const bool has_dcn_rest = tool_ == Tool::maxtext && copies < 0;  // dcn_data_parallelism: -1, one slice
    count_by_degrees(has_dcn_rest ? -copies : copies, parts);
    if (parts == 1) {
      draft_.ignore("@shard_degree");
      draft_.become("@replicate_degree", "parallelism.shard", "none");
      return;
    }
    draft_.become("@shard_degree", "parallelism.shard", "parameters");
    if (copies <= 1) {
      draft_.ignore("@replicate_degree");
      return;
    }
    draft_.become("@replicate_degree", "parallelism.shard_over", "node");
    compare_with_nodes(copies, parts);
  }

  /// Here the replicas of a node divide a copy of the state, whatever the job's degrees.
  void compare_with_nodes(long long copies, long long parts) {
    if (parts < 0 && ranks()) parts = *ranks() / std::max(1LL, copies * ranks_of_replica());
    const auto on_node = draft_.number("gpus_per_node");
    if (parts > 0 && on_node && parts * ranks_of_replica() == *on_node) return;
    draft_.warn(
        parts > 0
            ? fmt::format("{} replicas divide a copy of the state in the job; here the replicas of a node do",
                          parts)
            : fmt::format("the job has {} copies of the state; here each node has one: right on {} nodes",
                          copies, copies));
  }

  /// Degrees without a "rest" say how many GPUs there are.
  void count_by_degrees(long long copies, long long parts) {
    if (copies < 1 || parts < 1 || ranks()) return;
    const long long all = copies * parts * ranks_of_replica();
    if (all > largest_product) {
      draft_.fail("@shard_degree", fmt::format("the degrees multiply to {} GPUs", all));
      return;
    }
    const auto nodes = draft_.number("nodes");
    const bool is_even = nodes && all % *nodes == 0;
    const char* const key = is_even ? "gpus_per_node" : "gpus";
    const std::string value = std::to_string(is_even ? all / *nodes : all);
    if (tool_ == Tool::maxtext)  // degrees between slices are -1 unless they are given
      draft_.assume_from("@shard_degree", key, value, "the product of the degrees, on one slice");
    else
      for (const char* const name : {"@shard_degree", "@replicate_degree"}) draft_.become(name, key, value);
  }

  void assume_context_exchange() {
    if (tool_ != Tool::torchtitan) return;
    if (draft_.number("parallelism.context").value_or(1) > 1)
      draft_.assume_setting("@context_exchange", "context_parallel_rotate_method", "allgather",
                            "torchtitan's default (config/job_config.py)");
  }

  void take_pipeline() {
    if (const auto mode = draft_.text("@tensor_mode")) {
      if (small_letters(*mode) == "reduce_scatter" && draft_.number("parallelism.tensor").value_or(1) > 1)
        draft_.become("@tensor_mode", "parallelism.sequence", "true");
      else
        draft_.ignore("@tensor_mode");
    }
    if (const auto layers = draft_.number("@layers_per_virtual_stage")) {
      const auto all = draft_.number("model.decoder.layers");
      const long long stages = draft_.number("parallelism.pipeline").value_or(1);
      if (all && *layers > 0 && stages > 0 && *all % (*layers * stages) == 0)
        draft_.become("@layers_per_virtual_stage", "parallelism.virtual_stages",
                      std::to_string(*all / *layers / stages));
      else
        draft_.warn("the layers do not divide evenly into virtual stages of the job");
    }
    if (const auto schedule = draft_.text("@pipeline_schedule")) {
      constexpr std::array names{Meaning{"1f1b", "1f1b"}, Meaning{"gpipe", "gpipe"}, Meaning{"afab", "gpipe"},
                                 Meaning{"interleaved1f1b", "interleaved"}};
      if (draft_.number("parallelism.pipeline").value_or(1) == 1) {
        draft_.ignore("@pipeline_schedule");
      } else if (const auto ours = meaning_of(names, small_letters(*schedule))) {
        draft_.become("@pipeline_schedule", "parallelism.schedule", std::string(*ours));
        if (*ours == "interleaved")
          draft_.assume("parallelism.virtual_stages", "2",
                        "torchtitan's stages per rank of a looped schedule");
      } else {
        draft_.differ("@pipeline_schedule", "1f1b is simulated in its place: a real step is shorter");
      }
    }
  }

  /// Degrees that the sizes of the job's own model rule out.
  void compare_with_sizes() {
    const auto layers = draft_.number("model.decoder.layers");
    const long long stages = draft_.number("parallelism.pipeline").value_or(1);
    if (layers && stages > *layers)
      draft_.fail("parallelism.pipeline",
                  fmt::format("{} stages, but the model has {} layers", stages, *layers));
    const auto heads = draft_.number("model.decoder.heads");
    const long long tensor = std::max(1LL, draft_.number("parallelism.tensor").value_or(1));
    if (heads && *heads % tensor != 0)
      draft_.fail("parallelism.tensor",
                  fmt::format("{} heads are not divisible by {} ranks", *heads, tensor));
  }

  /// Sequence parallelism belongs to the tensor parallelism of PyTorch's plans; without tensor parallelism
  /// Megatron-LM turns it off (arguments.py).
  void take_sequence_parallelism() {
    const bool has_plan = tool_ == Tool::torchtitan || tool_ == Tool::torchtune;
    if (draft_.number("parallelism.tensor").value_or(1) <= 1)
      draft_.ignore("parallelism.sequence");
    else if (has_plan)
      draft_.assume("parallelism.sequence", "true", "tensor parallelism of the tool divides norms by tokens");
  }

  /// Megatron-Core's own default is the tensor degree, but all 73 recipes of Megatron-Bridge set 1.
  void take_expert_division() {
    const bool divides_experts = draft_.number("parallelism.expert").value_or(1) > 1 &&
                                 draft_.number("parallelism.tensor").value_or(1) > 1;
    if (divides_experts && (tool_ == Tool::nemo || tool_ == Tool::torchtitan))
      draft_.assume("parallelism.expert_tensor", "1", "the tool's recipes do not divide an expert");
  }

  /// FSDP inside a pipeline keeps the parameters that it has gathered until the step ends.
  void take_shards_of_pipeline() {
    const std::string shard = draft_.text("parallelism.shard").value_or("none");
    if (draft_.number("parallelism.pipeline").value_or(1) <= 1 ||
        (shard != "parameters" && shard != "gradients"))
      return;
    draft_.replace("parallelism.shard", "optimizer",
                   fmt::format("{} are sharded in a pipeline: they are gathered and reduced once a step, but "
                               "whole between: a real step needs less memory",
                               shard));
  }

  void take_recomputation() {
    take_recomputed_layers();
    take_recomputed_modules();
    if (const auto text = draft_.text("@recompute_selective"))
      draft_.become("@recompute_selective", "parallelism.recompute", "selective");
    if (const auto mode = draft_.text("@checkpoint_mode")) {
      if (*mode == "full")
        draft_.become("@checkpoint_mode", "parallelism.recompute", "full");
      else if (*mode == "none")
        draft_.ignore("@checkpoint_mode");
      else if (*mode == "selective")
        take_selective();
      else
        draft_.differ("@checkpoint_mode",
                      "nothing is recomputed here: a real step is longer and needs less memory");
    }
    draft_.ignore("@selective_option");  // of another mode, or "op"
    if (const auto policy = draft_.text("@remat")) {
      if (*policy == "full")
        draft_.become("@remat", "parallelism.recompute", "full");
      else
        draft_.differ("@remat", "nothing is recomputed here: a real step is longer and needs less memory");
    }
  }

  /// Methods of full recomputation: "block" repeats the first layers of each stage alone, "uniform" keeps one
  /// input for each group of layers (transformer_config.py, recompute_num_layers).
  void take_recomputed_layers() {
    const auto layers = draft_.number("@recomputed_layers");
    const auto all = draft_.number("model.decoder.layers");
    const long long chunks = std::max(1LL, draft_.number("parallelism.pipeline").value_or(1)) *
                             std::max(1LL, draft_.number("parallelism.virtual_stages").value_or(1));
    const bool is_block = small_letters(draft_.text("@recompute_method").value_or("")) == "block";
    if (draft_.text("parallelism.recompute") == "full" && layers && *layers > 0 && is_block &&
        (!all || *layers < *all / chunks))
      draft_.become("@recomputed_layers", "parallelism.recompute_layers", std::to_string(*layers));
    else if (draft_.text("parallelism.recompute") == "full" && layers && !is_block && *layers > 1)
      draft_.differ("@recomputed_layers",
                    "the input of each layer is kept here: a real step needs less memory");
    draft_.ignore("@recomputed_layers");
    draft_.ignore("@recompute_method");
  }

  /// torchtitan recomputes one layer in so many, or with the option "op" keeps the attention's outputs and
  /// every second product.
  void take_selective() {
    if (const auto every = draft_.number("@selective_option"); every && *every > 0) {
      draft_.become("@checkpoint_mode", "parallelism.recompute", "full");
      draft_.become("@selective_option", "parallelism.recompute_every", std::to_string(*every));
      return;
    }
    draft_.differ(
        "@checkpoint_mode",
        "the core of the attention is computed again here, not every second product and all between "
        "products: a real step is longer and needs less memory");
    draft_.set("parallelism.recompute", "selective");
  }

  /// Parts of a block that Megatron-Core computes again, the core of the attention among them or not.
  void take_recomputed_modules() {
    const auto modules = draft_.text("@recomputed_modules");
    if (!modules) return;
    const bool has_core = contains(*modules, "core_attn");
    const bool has_more = modules->find_first_not_of(" ,[]'\"core_attn") != std::string::npos;
    if (draft_.text("parallelism.recompute") != "selective" || (has_core && !has_more)) {
      draft_.ignore("@recomputed_modules");
      return;
    }
    draft_.differ("@recomputed_modules",
                  has_core ? "the core of the attention alone is computed again here: a real step is longer "
                             "and needs less memory"
                           : "nothing is computed again here: a real step is longer and needs less memory");
    if (!has_core) draft_.drop("parallelism.recompute");
  }

  void take_context_exchange() {
    constexpr std::array words{
        Meaning{"p2p", "p2p"},     Meaning{"all_gather", "all_gather"}, Meaning{"allgather", "all_gather"},
        Meaning{"a2a", "a2a"},     Meaning{"ulysses", "a2a"},           Meaning{"ring", "p2p"},
        Meaning{"alltoall", "a2a"}};
    const auto text = draft_.text("@context_exchange");
    if (!text) return;
    if (draft_.number("parallelism.context").value_or(1) == 1)
      draft_.ignore("@context_exchange");
    else if (const auto ours = meaning_of(words, small_letters(*text)))
      draft_.become("@context_exchange", "parallelism.context_exchange", std::string(*ours));
    else
      draft_.differ("@context_exchange", "messages of context parallelism go around a ring here");
  }

  long long ranks_of_replica() {
    long long ranks = 1;
    for (const char* const axis : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context"}) {
      const long long degree = std::max(1LL, draft_.number(axis).value_or(1));
      if (degree > largest_product / ranks) {
        draft_.fail(axis, fmt::format("a replica has more than {} ranks", largest_product));
        return ranks;
      }
      ranks *= degree;
    }
    return ranks;
  }

  [[nodiscard]] std::optional<long long> ranks() const {
    if (const auto gpus = draft_.number("gpus")) return gpus;
    const auto on_node = draft_.number("gpus_per_node");
    if (!on_node) return std::nullopt;
    return draft_.number("nodes").value_or(1) * *on_node;
  }

  void take_batches() {
    if (const auto all = ranks(); all && *all % ranks_of_replica() != 0) {
      draft_.warn(fmt::format("a replica needs {} GPUs, and the {} of the job are no multiple: add --nodes",
                              ranks_of_replica(), *all));
    }
    if (const auto text = draft_.text("@per_device_batch")) {  // samples over GPUs, whatever they share
      const Parsed<double> samples = parse_number(*text);
      if (!samples || *samples <= 0 || *samples > 1e7) {
        draft_.fail("@per_device_batch",
                    fmt::format("samples per GPU are a number above 0, not {}", in_quotes(*text)));
      } else {
        const double of_replica = *samples * static_cast<double>(ranks_of_replica());
        if (of_replica < 1 || of_replica != std::floor(of_replica))
          draft_.warn(fmt::format("{} samples per GPU make no whole number for a replica", *text));
        draft_.become("@per_device_batch", "batch_per_gpu",
                      fmt::format("{}", std::max(1.0, std::round(of_replica))));
      }
    }
    take_global_tokens();
    split_into_micro_batches();
    if (!draft_.has("batch_per_gpu") && !draft_.has("@global_batch")) take_no_batch();
    const auto global = draft_.number("@global_batch");
    if (!global) return;
    const auto micro = draft_.number("batch_per_gpu");
    auto all = ranks();
    const bool is_counted = draft_.has("accumulation") && stages_of_batch_ == 1;
    if (!all && micro && is_counted) {  // the three of them say how many replicas there are
      const long long of_replica = *micro * std::max(1LL, draft_.number("accumulation").value_or(1));
      if (*global % of_replica == 0) {
        draft_.become("@global_batch", "gpus", std::to_string(*global / of_replica * ranks_of_replica()));
        return;
      }
    }
    if (!all || *all % ranks_of_replica() != 0) {
      take_whole_batch(*global);
      return;
    }
    const long long replicas = *all / ranks_of_replica();
    const long long accumulation = draft_.number("accumulation").value_or(1);
    if (!micro) {
      draft_.assume_from("@global_batch", "batch_per_gpu",
                         std::to_string(std::max(1LL, *global / (replicas * accumulation))),
                         "the job names no micro-batch: its global batch in one");
      return;
    }
    const long long count = *global / (*micro * replicas);
    if (*global % (*micro * replicas) == 0 && !is_counted) {
      take_whole_batch(*global);
      return;
    }
    if (*global % (*micro * replicas) != 0 || count < 1)
      draft_.warn(
          fmt::format("a global batch of {} cannot be split evenly into micro-batches of {} on {} replicas",
                      *global, *micro, replicas));
    draft_.become("@global_batch", "accumulation", std::to_string(std::max(1LL, count) * stages_of_batch_));
  }

  /// The number of micro-batches follows from it, also where --nodes changes that of the replicas.
  void take_whole_batch(long long samples) {
    draft_.become("@global_batch", "global_batch", std::to_string(samples));
    if (stages_of_batch_ > 1) draft_.drop("accumulation");
  }

  /// llm.c counts tokens.
  void take_global_tokens() {
    const auto tokens = draft_.number("@global_tokens");
    const auto length = draft_.number("sequence_length");
    if (tokens && length && *length > 0 && *tokens % *length == 0)
      draft_.become("@global_tokens", "@global_batch", std::to_string(*tokens / *length));
    else
      draft_.ignore("@global_tokens");
  }

  void take_no_batch() {
    draft_.warn("the job does not say how many samples a GPU computes: add --set batch_per_gpu=N");
  }

  /// torchtitan cuts the local batch into the pipeline's micro-batches.
  void split_into_micro_batches() {
    const bool has_pipeline = draft_.number("parallelism.pipeline").value_or(1) > 1;
    if (!has_pipeline || tool_ != Tool::torchtitan) {
      draft_.ignore("@pipeline_microbatch");
      return;
    }
    const long long part = draft_.number("@pipeline_microbatch").value_or(1);
    const long long local = draft_.number("batch_per_gpu").value_or(1);
    if (part < 1 || local % part != 0) return;
    stages_of_batch_ = local / part;
    draft_.set("accumulation", std::to_string(stages_of_batch_ * draft_.number("accumulation").value_or(1)));
    draft_.become("@pipeline_microbatch", "batch_per_gpu", std::to_string(part));
  }

  JobDraft& draft_;
  Tool tool_;
  long long stages_of_batch_ = 1;
};

}  // namespace

void complete_layout(JobDraft& draft, Tool tool) { Layout(draft, tool).complete(); }

}  // namespace trainyard::jobs
