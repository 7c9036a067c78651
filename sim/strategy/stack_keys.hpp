#pragma once
// The keys of a stack's file.

#include "config/keys.hpp"
#include "strategy/stack.hpp"

#include <array>

namespace trainyard::config {

template <>
struct Keys<Fusion> {
  static auto table() {
    return keys(
        required("threshold", &Fusion::threshold,
                 "largest size of tensors that are reduced together; a larger tensor goes alone")
            .above(0)
            .at_most(1e12),
        required("cycle_time", &Fusion::cycle_time,
                 "cycle of the background thread, which starts collectives only at its end; 0: at once")
            .at_least(0)
            .at_most(1));
  }
};

template <>
struct Keys<InputCopy> {
  static auto table() {
    return keys(
        optional("bytes_per_value", &InputCopy::bytes_per_value, "of the model's input as the host has it")
            .between(1, 8),
        optional("source", &InputCopy::source, "documentation, or why it is assumed"));
  }
};

template <>
struct Keys<HostReduction> {
  static auto table() {
    return keys(
        required("sum_per_core", &HostReduction::sum_per_core,
                 "gradient bytes that one host core sums per second; each collective is summed by one core")
            .positive(1e12));
  }
};

template <>
struct Keys<WithXla> {
  static auto table() {
    return keys(
        optional("overlap", &WithXla::overlap,
                 "in place of the stack's overlap: false where the backward pass is one compiled program, "
                 "whose gradients are known only at its end; default: as without XLA"),
        optional("cycle_time", &WithXla::cycle_time, "in place of fusion.cycle_time; default: as without XLA")
            .at_least(0)
            .at_most(1),
        required("source", &WithXla::source, "documentation, or why it is assumed"));
  }
};

template <>
struct Keys<AttentionScale> {
  static auto table() {
    const auto factor = [](auto key) { return key.at_least(0.01).at_most(100); };
    return keys(factor(optional("forward", &AttentionScale::forward, "factor in forward and its repetition")),
                factor(optional("backward", &AttentionScale::backward, "factor in backward")));
  }
};

template <>
struct Keys<OverlappedBuckets> {
  static auto table() {
    constexpr double most = 1e15;
    return keys(required("least", &OverlappedBuckets::least, "number of parameters at which a bucket closes")
                    .at_least(1)
                    .at_most(most),
                optional("per_replica", &OverlappedBuckets::per_replica,
                         "as many for each replica (ranks of data and context groups), if that is more")
                    .at_least(0)
                    .at_most(most),
                optional("first_chunk", &OverlappedBuckets::first_chunk,
                         "true: only the first virtual stage of the first stage has such buckets; all others "
                         "have one"),
                optional("source", &OverlappedBuckets::source, "documentation of the rule"));
  }
};

template <>
struct Keys<ScalarRings> {
  static auto table() {
    return keys(
        optional("count", &ScalarRings::count, "number of scalars; they are summed one after the other")
            .at_least(1)
            .at_most(1e6),
        required("hop", &ScalarRings::hop, "time per hop between GPUs of one node").above(0).at_most(1),
        required("node_hop", &ScalarRings::node_hop, "time per hop to a GPU of another node")
            .above(0)
            .at_most(1));
  }
};

template <>
struct Keys<Stack> {
  static constexpr std::array other_words{OtherWord{"compiler", "xla: true, if it is XLA"},
                                          OtherWord{"jit", "xla: true, if it is XLA"},
                                          OtherWord{"use_xla", "xla"},
                                          OtherWord{"enable_xla", "xla"},
                                          OtherWord{"tf_xla", "xla"},
                                          OtherWord{"xla_jit", "xla"},
                                          OtherWord{"use_xla_jit", "xla"},
                                          OtherWord{"graph_kernel_fusion", "fused_elementwise"}};
  static auto table() {
    constexpr double most_bucket = 1e12;
    return keys(
        required("name", &Stack::name, "the file's name without .yaml"),
        optional("title", &Stack::title, "name for reports"),
        optional("framework", &Stack::framework,
                 "pytorch, tensorflow, mxnet, oneflow, paddle, mindspore or hugectr: selects factors on "
                 "kernel times (key software of an experiment)"),
        optional(
            "kernels_of", &Stack::kernels_of,
            "a stack with the same kernels, whose factors (key software of an experiment) hold for this one; "
            "default: this stack"),
        optional("runtime", &Stack::runtime, "how a layer becomes kernels"),
        optional("lowering", &Stack::lowering,
                 "rules by which layers become kernels, unless the runtime is fused: a name in "
                 "workloads/lowering or a "
                 "path; default: pytorch_2_11"),
        optional("attention", &Stack::attention,
                 "how attention is computed, whatever the model's file says, in the families gpt2, bert, "
                 "decoder, vit and encoder_decoder (T5: of the encoder's output alone, since its own scores "
                 "have a trained bias); default: as that says"),
        optional("optimizer_kernels", &Stack::optimizer_kernels,
                 "kernels of the update, unless the runtime is fused"),
        optional("fp8_scaling", &Stack::fp8_scaling,
                 "scales of values in 8 bits, with precision fp8 and unless the runtime is fused; default: "
                 "delayed"),
        optional(
            "graphs", &Stack::graphs,
            "parts of each block whose kernels are launched as CUDA graphs (Megatron-LM's "
            "--cuda-graph-scope), unless the runtime is fused, of ranks that share a model or its state; "
            "default: none"),
        optional("products_in_8_bits", &Stack::products_in_8_bits,
                 "true: products of linear layers may have 8-bit operands (precision fp8), by Transformer "
                 "Engine or torchao; other stacks refuse that precision, those with a lowering by its rules"),
        optional("bucket_first", &Stack::bucket_first, "size at which the first gradient bucket closes")
            .above(0)
            .at_most(most_bucket),
        optional("bucket_cap", &Stack::bucket_cap,
                 "size at which the other buckets close; larger than the model: one bucket for all")
            .above(0)
            .at_most(most_bucket),
        optional(
            "overlapped_buckets", &Stack::overlapped_buckets,
            "sizes of buckets with overlap: true, in place of bucket_first and bucket_cap, unless one of "
            "these is set outside of the stack's file"),
        optional("fusion", &Stack::fusion, "Horovod's tensor fusion; replaces buckets"),
        optional("gradient_dtype", &Stack::gradient_dtype, "data type of the reduced gradients"),
        optional("overlap", &Stack::overlap,
                 "true: a bucket is reduced as soon as its gradients are ready; false: after backward, and "
                 "no kernels of "
                 "other blocks hide collectives of units, unless units.ahead is given"),
        optional("reduce_each_micro_batch", &Stack::reduce_each_micro_batch,
                 "true: gradients are reduced after each micro-batch, and the next one waits; false: once, "
                 "after the last micro-batch"),
        optional("broadcast_buffers", &Stack::broadcast_buffers,
                 "true: before a forward pass rank 0 sends the running statistics of batch norms and their "
                 "counters to all ranks, as PyTorch DDP does by default, once per step: two broadcasts, and "
                 "a copy of each tensor on every rank; batch norms without scale or bias have none; not for "
                 "ranks that share a model; false: each rank keeps its own"),
        optional(
            "overlap_parameters", &Stack::overlap_parameters,
            "true: parameters that replicas shard are gathered bucket by bucket during the first forward "
            "pass; false: all at once after the update"),
        optional("shard", &Stack::shard,
                 "what replicas divide if the job has several, one stage, and no parallelism.shard; default: "
                 "nothing"),
        optional(
            "recompute_stops_early", &Stack::recompute_stops_early,
            "true: full recomputation of a block ends before its last product, whose result backward does "
            "not need (PyTorch's checkpoints without use_reentrant); false: all of it is computed again"),
        optional("units", &Stack::units,
                 "how parameters that replicas divide are gathered unit by unit, and their gradients reduced "
                 "(shard: parameters, and gradients if units.buffers is flat or tensors)"),
        optional(
            "gradient_buffers", &Stack::gradient_buffers,
            "true: gradients exist only in the buffers that are reduced, in gradient_dtype; false: these "
            "buffers are copies"),
        optional("whole_gradients", &Stack::whole_gradients,
                 "true: replicas that divide the optimizer's state sum all gradients by an all-reduce, of "
                 "which each uses its part; false: each gets its part by a reduce-scatter"),
        optional("divided_messages", &Stack::divided_messages,
                 "true: of a message between stages each rank of a tensor group sends a part, and the "
                 "receiving group gathers the whole; false: each rank sends all of it. With sequence "
                 "parallelism ranks have only parts in any case"),
        optional("fused_accumulation", &Stack::fused_accumulation,
                 "true: the kernels of backward add gradients to those of earlier micro-batches; false: "
                 "kernels of their own do"),
        optional("clip_gradients", &Stack::clip_gradients,
                 "true: gradients are clipped by their norm, which ranks that share a model or the state of "
                 "its parameters sum before the update; false: they are not"),
        optional("intra_node", &Stack::intra_node, "how the GPUs of one node reach each other"),
        optional("gradient_work", &Stack::gradient_work,
                 "passes over the gradients in addition to the reduction"),
        optional("dispatcher", &Stack::dispatcher,
                 "how tokens reach the ranks of their experts, unless parallelism.dispatcher says it"),
        optional("layer_work", &Stack::layer_work,
                 "further kernels of layers, for example for biases, copies and casts"),
        optional("persistent_kernels", &Stack::persistent_kernels,
                 "kernels that need all multiprocessors at once: they wait while a collective runs"),
        optional("fused_elementwise", &Stack::fused_elementwise,
                 "true: consecutive element-wise ops are fused into one kernel, as XLA does"),
        optional("xla", &Stack::xla,
                 "true: the XLA compiler is on: fused_elementwise, fewer launches with it, and the changes "
                 "of with_xla; an error for stacks that do not state with_xla; the time to compile is not "
                 "counted"),
        optional("with_xla", &Stack::with_xla,
                 "further changes by XLA, if the framework has it; default: it has none"),
        optional("overlap_slows", &Stack::overlap_slows,
                 "true: communication takes multiprocessors and memory bandwidth from kernels that run at "
                 "the same time; false: it does not slow them"),
        optional("servers", &Stack::servers, "how tensors are spread over the shards of parameter servers"),
        optional("layout", &Stack::layout,
                 "memory layout of the activations that convolutions read; the same times for both if the "
                 "GPU's profile has no separate curves"),
        optional("library", &Stack::library,
                 "library that carries out collectives; between processors one that runs on the hosts"),
        optional("nccl", &Stack::nccl,
                 "version of NCCL that chooses algorithms and protocols, if it is the library (write it in "
                 "quotes)"),
        optional("compute_scale", &Stack::compute_scale,
                 "factor on the time of every op that is computed here: a framework's kernels relative to "
                 "those of the GPU's profile; results name the run that it was fitted to under calibrated_on")
            .at_least(0.01)
            .at_most(100),
        optional(
            "attention_scale", &Stack::attention_scale,
            "factors on the time of fused attention: of the stack's kernel over that in the GPU profile, "
            "FlashAttention-2 unless it says otherwise; default: 1"),
        optional("op_overhead", &Stack::op_overhead,
                 "time added to every op that is computed here, not to durations given in a trace; default: "
                 "as fitted (key software of an experiment)")
            .at_least(0)
            .at_most(1),
        optional("input_copy", &Stack::input_copy,
                 "copies of a step's samples to the GPUs that nothing hides; default: they are hidden"),
        optional("layer_copies", &Stack::layer_copies,
                 "time to start one copy, where an all-to-all between ranks that divide layers is a copy of "
                 "each part, which one process per node starts one after the other (OneFlow 0.2): an op of "
                 "kind host before the all-to-all, with the time of the copies' bytes on the path through "
                 "host memory; in one node it takes the place of the all-to-all; default: a collective")
            .at_least(0)
            .at_most(1),
        optional("repeated_rows", &Stack::repeated_rows,
                 "time in which a kernel adds one more gradient to the most frequent row of an embedding's "
                 "tables, where it adds those of one row one after the other (HugeCTR 2.2): backward waits "
                 "for that row, whatever the GPU; default: nothing, they are added at the same time")
            .at_least(0)
            .at_most(1e-3),
        optional("step_overhead", &Stack::step_overhead,
                 "host time after every step, in which the GPU waits and which nothing hides: reading the "
                 "loss back, Python between steps")
            .at_least(0)
            .at_most(10),
        optional("step_overhead_per_gpu", &Stack::step_overhead_per_gpu,
                 "further host time after every step for each GPU of a node but the first, if one process "
                 "drives all")
            .at_least(0)
            .at_most(10),
        optional("scalar_rings", &Stack::scalar_rings,
                 "scalars that the hosts of several nodes sum over all GPUs after every step"),
        optional("micro_batch_overhead", &Stack::micro_batch_overhead,
                 "host time after every micro-batch but the last, in which the GPUs wait (a flag that ranks "
                 "agree on); only with several GPUs")
            .at_least(0)
            .at_most(10),
        optional("collective_overhead", &Stack::collective_overhead,
                 "host time before every collective, taken by one after the other: negotiation between "
                 "ranks, a late launch; with fusion after the tick of a cycle")
            .at_least(0)
            .at_most(10),
        optional(
            "host_reduction", &Stack::host_reduction,
            "reductions over several nodes are summed in host memory, as by Gloo without GPUDirect: each "
            "waits for a copy from a GPU to the host, for the sums and for a copy back, at the rate of "
            "the links between them; default: GPUs sum"),
        optional("memory", &Stack::memory,
                 "what the framework keeps in device memory, and how its allocator works; default: the "
                 "minimum is counted"),
        optional("source", &Stack::source, "documentation of these rules"));
  }
};

}  // namespace trainyard::config
