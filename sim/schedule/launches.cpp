#include "schedule/launches.hpp"

#include "config/diagnostic.hpp"
#include "experiment/stack_rules.hpp"
#include "strategy/batch_norm_buffers.hpp"
#include "strategy/buckets.hpp"
#include "strategy/compression.hpp"
#include "strategy/fusion.hpp"
#include "strategy/micro_batches.hpp"
#include "strategy/stack_ops.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>

namespace trainyard {

Seconds moving_time(const GpuProfile& gpu, Precision precision, Bytes moved) {
  Op op;
  op.kind = OpKind::elementwise;
  op.bytes = moved;
  return op_time(gpu, precision, op).duration;
}

namespace {

Precision type_of(const Trace& trace) { return trace.precision.value_or(Precision::fp32); }

Seconds moving_time(const GpuProfile& gpu, Precision precision, std::span<const Bytes> kernels) {
  Seconds sum;
  for (const Bytes moved : kernels) sum += moving_time(gpu, precision, moved);
  return sum;
}

/// Reads and writes each value once, in one kernel over all tensors. A single tensor is sent without a copy.
Seconds copy_time(const GpuProfile& gpu, Precision precision, Bytes size, std::size_t tensors) {
  return tensors < 2 ? Seconds() : moving_time(gpu, precision, 2 * size);
}

/// The op that waits for a collective of op `i`; none for the optimizer, which waits for all.
std::optional<int> needed_by(const OpCommunication& communication, std::size_t i) {
  if (!communication.waits) return std::nullopt;
  return static_cast<int>(i) + *communication.waits + (communication.at == LaunchTime::end ? 1 : 0);
}

/// The launches that the trace names. A collective takes gradients in the order in which they became ready,
/// until their bytes add up to its size.
std::vector<Launch> recorded_launches(const Trace& trace, Bytes value) {
  std::vector<Launch> launches;
  if (std::ranges::all_of(trace.ops, [](const Op& op) { return op.communications.empty(); })) return launches;
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  std::size_t next = 0;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    for (const OpCommunication& communication : trace.ops[i].communications) {
      Launch& launch = launches.emplace_back(
          Launch{.name = fmt::format("bucket {}", launches.size()),
                 .purpose = "buckets",
                 .ready_op = static_cast<int>(i) - (communication.at == LaunchTime::start ? 1 : 0),
                 .needed_by = needed_by(communication, i),
                 .operation = communication.operation,
                 .axis = communication.axis,
                 .size = communication.size,
                 .op = static_cast<int>(i),
                 .message = communication.message});
      if (!reduces(launch.operation)) continue;
      launch.purpose = "gradients";
      Bytes taken;
      for (; next < gradients.size() && taken < launch.size && gradients[next].op <= launch.ready_op;
           ++next) {
        taken += gradients[next].gradient.elements * value;
        ++launch.tensors;
      }
    }
  }
  // one that begins with its op comes before those of that op's end
  std::ranges::stable_sort(launches, {}, &Launch::ready_op);
  return launches;
}

/// Whether none is a collective.
bool are_messages(const std::vector<Launch>& launches) {
  return std::ranges::all_of(launches, [](const Launch& launch) { return launch.message.has_value(); });
}

std::vector<Launch> grouped_launches(const Trace& trace, std::span<const Seconds> ends, const Stack& stack,
                                     Bytes value, int ranks) {
  const std::vector<ReadyGradient> gradients = ready_gradients(trace);
  std::vector<Launch> launches;
  for (const std::span<const ReadyGradient> group : by_micro_batch(trace, gradients)) {
    for (const Bucket& bucket :
         stack.fusion ? fused_buffers(group, ends, stack, value)
                      : ddp_buckets(group, bucket_limits(stack, value, ranks), stack.overlap, value)) {
      launches.push_back({.name = fmt::format("bucket {}", launches.size()),
                          .purpose = "gradients",
                          .ready_op = bucket.ready_after,
                          .axis = Axis::data,
                          .size = bucket.bytes,
                          .tensors = static_cast<int>(bucket.gradients.size()),
                          .op = bucket.ready_after});
    }
  }
  return launches;
}

/// The copies into the fusion buffer and out of it.
void add_copies(std::vector<Launch>& launches, const GpuProfile& gpu, Precision precision) {
  for (Launch& launch : launches) {
    if (launch.message) continue;
    const Seconds copy = copy_time(gpu, precision, launch.size, at(launch.tensors));
    launch.before = launch.after = {.name = "copy", .duration = copy};
  }
}

/// Delays every launch until the tick of Horovod's cycle (0: none) and by the host's work before a
/// collective, one after the other.
void add_host_time(std::vector<Launch>& launches, Seconds cycle, Seconds overhead,
                   std::span<const Seconds> ends) {
  Seconds free;
  for (Launch& launch : launches) {
    if (launch.message) continue;
    const Seconds ready = launch.ready_op < 0 ? Seconds() : ends[at(launch.ready_op)];
    const Seconds start = std::max(ready, free);
    free = std::max(next_tick(ready, cycle), start) + overhead;
    launch.held = free - start;
  }
}

/// Adds the stack's passes over the reduced gradients, for jobs with several ranks.
void add_passes(std::vector<Launch>& launches, const Stack& stack, Bytes value, const GpuProfile& gpu,
                Precision precision) {
  for (Launch& launch : launches) {
    if (!reduces(launch.operation)) continue;
    for (const GradientPass& pass : stack.gradient_work) {
      if (pass.ranks != PassRanks::many || !is_done(pass, precision)) continue;
      SideWork& work = pass.when == PassTime::before ? launch.before : launch.after;
      work.name = work.duration > Seconds() ? work.name + " + " + pass.name : pass.name;
      work.duration += moving_time(gpu, precision, bytes_of(pass, stack, precision, launch.size / value));
    }
  }
}

/// Indices of the first op of each micro-batch.
std::vector<int> micro_batch_begins(const Trace& trace) {
  std::vector<int> begins;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (i == 0 || begins_micro_batch(trace, i)) begins.push_back(static_cast<int>(i));
  }
  return begins;
}

/// PyTorch DDP with broadcast_buffers: before a forward pass rank 0 sends the running statistics of all batch
/// norms to all ranks, then their counters. Each rank copies them into one tensor and, tensor by tensor,
/// back; the copies of the statistics come before the counters, though DDP copies both behind the second
/// broadcast's launch. A pass whose predecessor reduced no gradients has no broadcast. Source: PyTorch
/// torch/nn/parallel/distributed.py, _check_sync_bufs_pre_fwd; torch/csrc/distributed/c10d/comm.cpp,
/// broadcast_coalesced.
std::vector<Launch> buffer_launches(const Trace& trace, const Stack& stack, const GpuProfile& gpu) {
  const std::vector<double> channels = batch_norm_channels(trace);
  if (!stack.broadcast_buffers || channels.empty()) return {};
  const std::vector<Bytes> counters(channels.size(), Bytes(8));
  std::vector<Bytes> statistics;  // a mean and a variance of each
  for (const double count : channels) statistics.insert(statistics.end(), 2, count * Bytes(4));
  std::vector<int> begins = micro_batch_begins(trace);
  if (!stack.reduce_each_micro_batch) begins.resize(1);
  std::vector<Launch> launches;
  for (const int begin : begins) {
    for (const std::vector<Bytes>& tensors : {statistics, counters}) {
      Launch launch{.name = fmt::format("buffers {}", launches.size()),
                    .purpose = "buffers",
                    .ready_op = begin - 1,
                    .needed_by = begin,
                    .operation = Operation::broadcast,
                    .axis = Axis::data,
                    .size = std::accumulate(tensors.begin(), tensors.end(), Bytes()),
                    .tensors = static_cast<int>(tensors.size())};
      launch.after.name = "unflatten";
      for (const Bytes size : tensors) launch.after.duration += moving_time(gpu, type_of(trace), 2 * size);
      launch.before = {.name = "flatten",
                       .duration = copy_time(gpu, type_of(trace), launch.size, tensors.size())};
      launches.push_back(std::move(launch));
    }
  }
  return launches;
}

/// Turns buckets of gradients into updates that every rank sends to every other.
void send_to_peers(std::vector<Launch>& launches, const Sync& sync, Bytes value, int ranks,
                   const GpuProfile& gpu, Precision precision) {
  const Compression compression = sync.compression.value_or(Compression::none);
  for (Launch& launch : launches) {
    if (!reduces(launch.operation)) continue;
    const PeerUpdate update =
        peer_update(launch.size / value, value, ranks, compression, sync.keep.value_or(1));
    launch.operation = Operation::all_gather;
    launch.purpose = "buckets";
    launch.size = static_cast<double>(ranks) * update.bytes;
    launch.before.duration += moving_time(gpu, precision, update.before);
    launch.after.duration += moving_time(gpu, precision, update.after);
    launch.before.name = compression == Compression::none ? "copy" : "compress";
    launch.after.name = "sum";
  }
}

/// PyTorch's nn.DataParallel: replicate() before forward, one autograd node that reduces all gradients after
/// backward. Tensors are copied together before sending; received parts are used without a copy.
std::vector<Launch> through_gpu0(const Trace& trace, const Stack& stack, const GpuProfile& gpu, Bytes value) {
  std::vector<Gradient> tensors;
  for (const ReadyGradient& ready : ready_gradients(trace)) tensors.push_back(ready.gradient);
  std::ranges::reverse(tensors);  // gradients become ready in the reverse of the parameters' order
  std::vector<Launch> launches;
  int last_backward = -1;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.ops[i].phase != Phase::optimizer) last_backward = static_cast<int>(i);
  }
  const auto add = [&](Operation operation, const char* name, int ready_op, std::span<const Bucket> buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Bucket& buffer = buffers[i];
      const Seconds copy = copy_time(gpu, type_of(trace), buffer.bytes, buffer.gradients.size());
      launches.push_back(
          {.name = fmt::format("{} {}", name, i),
           .purpose = name,
           .ready_op = ready_op,
           .needed_by = ready_op < 0 ? std::optional(0) : std::nullopt,
           .operation = operation,
           .size = buffer.bytes,
           .tensors = static_cast<int>(buffer.gradients.size()),
           .before = {.name = "flatten", .duration = copy, .is_of_root = operation == Operation::broadcast}});
    }
  };
  const Bytes limit = largest_bucket(stack);
  const Bytes parameter = element_sizes(type_of(trace)).gradient;
  add(Operation::broadcast, "parameters", -1, broadcast_buffers(tensors, limit, parameter));
  add(Operation::reduce, "gradients", last_backward, reduce_buffers(tensors, limit, value));
  return launches;
}

void require_plain(const Trace& trace, const Sync& sync, Bytes value) {
  const auto communicates = [](const Op& op) { return !op.communications.empty(); };
  if (std::ranges::any_of(trace.ops, communicates)) {
    throw InputError(
        fmt::format("the trace names collectives, but {} launches its own", config::name_of(sync.kind)),
        "leave both communication columns empty, or use kind: all_reduce");
  }
  if (sync.compression == Compression::fp16 && value <= Bytes(2)) {
    throw InputError("compression fp16 has no effect: the gradients already have 2 bytes per value",
                     "leave it out, or use gradient_dtype: fp32 in the stack");
  }
}

/// Makes every micro-batch wait for the launches of the previous one: gradients must not accumulate while
/// they are being sent (PyTorch DDP waits at the end of each backward).
void hold_micro_batches(const Trace& trace, std::vector<Launch>& launches) {
  const std::vector<int> begins = micro_batch_begins(trace);
  for (Launch& launch : launches) {
    const auto next = std::ranges::upper_bound(begins, launch.ready_op);
    if (next != begins.end() && !launch.needed_by && !launch.message) launch.needed_by = *next;
  }
}

}  // namespace

std::vector<Launch> launches_of(const Trace& trace, std::span<const Seconds> ends, const Stack& stack,
                                const GpuProfile& gpu, const Sync& sync, int ranks) {
  const Precision precision = type_of(trace);
  const Bytes value = size_of(stack.gradient_dtype, precision);
  if (sync.kind == SyncKind::dataparallel_gpu0 || sync.kind == SyncKind::peer_to_peer)
    require_plain(trace, sync, value);
  if (sync.kind == SyncKind::dataparallel_gpu0) {
    std::vector<Launch> launches = through_gpu0(trace, stack, gpu, value);
    add_host_time(launches, Seconds(), stack.collective_overhead.value, ends);
    return launches;
  }
  std::vector<Launch> launches = recorded_launches(trace, value);
  if (are_messages(launches)) {
    std::ranges::move(grouped_launches(trace, ends, stack, value, ranks), std::back_inserter(launches));
    std::ranges::stable_sort(launches, {}, &Launch::ready_op);
  }
  if (std::ranges::find(launches, Operation::broadcast, &Launch::operation) == launches.end()) {
    std::ranges::move(buffer_launches(trace, stack, gpu), std::back_inserter(launches));
    std::ranges::stable_sort(launches, {}, &Launch::ready_op);
  }
  if (stack.reduce_each_micro_batch) hold_micro_batches(trace, launches);
  if (stack.fusion) add_copies(launches, gpu, precision);
  add_host_time(launches, stack.fusion ? stack.fusion->cycle_time.value : Seconds(),
                stack.collective_overhead.value, ends);
  add_passes(launches, stack, value, gpu, precision);
  if (sync.kind == SyncKind::peer_to_peer) send_to_peers(launches, sync, value, ranks, gpu, precision);
  return launches;
}

std::vector<std::string> notes_on_kind(const Sync& sync, const Stack& stack) {
  std::vector<std::string> notes;
  if (sync.kind == SyncKind::dataparallel_gpu0) {
    notes.push_back(fmt::format(
        "dataparallel_gpu0: the real nn.DataParallel is slower, because scattering the batch, gathering "
        "outputs, broadcasting batch-norm statistics and {} are not modelled",
        stack.runtime == Runtime::fused ? "Python's launching threads" : "copying the modules in Python"));
    if (stack.overlap || stack.fusion || stack.bucket_first || stack.broadcast_buffers) {
      notes.emplace_back(
          "dataparallel_gpu0 does not use the stack's overlap, bucket_first, fusion and broadcast_buffers: "
          "all gradients are reduced after backward, in buffers of bucket_cap");
    }
    if (has_passes_of_many(stack))
      notes.emplace_back(
          "dataparallel_gpu0 does not use the stack's passes with 'ranks: many', because no rank reduces all "
          "gradients");
  }
  if (sync.compression == Compression::top_k) {
    notes.emplace_back(
        "top_k: the kernels that select, keep and sum values are assumed to take the time of their memory "
        "traffic");
  }
  return notes;
}

}  // namespace trainyard
