#include "strategy/buckets.hpp"

#include "config/diagnostic.hpp"
#include "workload/fuse_elementwise.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace trainyard {

std::vector<ReadyGradient> ready_gradients(const Trace& trace) {
  std::vector<ReadyGradient> ready;
  std::unordered_map<std::string_view, int> first_op;  // by layer
  first_op.reserve(trace.ops.size());
  int last_pass = -1;  // pass over all gradients: none is sent before the end of the last pass
  for (std::size_t op = 0; op < trace.ops.size(); ++op) {
    const bool is_pass = trace.ops[op].role == OpRole::gradient_pass;
    if (is_pass && trace.ops[op].phase == Phase::backward) last_pass = static_cast<int>(op);
  }
  for (std::size_t op = 0; op < trace.ops.size(); ++op) {
    const int number = static_cast<int>(op);
    const int needed = first_op.try_emplace(first_layer(trace.ops[op].layer), number).first->second;
    for (const Gradient& gradient : trace.ops[op].gradients)
      ready.push_back({gradient, std::max(number, last_pass), needed});
  }
  return ready;
}

BucketLimits bucket_limits(const Stack& stack, Bytes value, int replicas, bool is_first_chunk) {
  const std::optional<OverlappedBuckets>& rule = stack.overlapped_buckets;
  if (!rule || !stack.overlap || stack.fusion) return {first_bucket(stack), largest_bucket(stack)};
  constexpr double endless = 1e15;
  const bool has_one = rule->first_chunk && !is_first_chunk;
  const Bytes size = value * (has_one ? endless : std::max(rule->least, replicas * rule->per_replica));
  return {size, size};
}

std::vector<Bucket> ddp_buckets(std::span<const ReadyGradient> gradients, BucketLimits limits, bool overlap,
                                Bytes value) {
  if (limits.first <= Bytes() || limits.others <= Bytes()) {
    throw InputError("a gradient bucket has 0 bytes",
                     "PyTorch DDP uses bucket_first: 1 MiB, bucket_cap: 25 MiB");
  }
  BucketFiller filler;
  for (const ReadyGradient& ready : gradients) {
    filler.add(ready.gradient, ready.gradient.elements * value, ready.op);
    const Bytes limit = filler.closed() == 0 ? limits.first : limits.others;
    if (filler.open_bytes() >= limit) filler.close();
  }
  std::vector<Bucket> buckets = filler.take();
  if (!overlap) {
    for (Bucket& bucket : buckets) bucket.ready_after = gradients.back().op;
  }
  return buckets;
}

std::vector<Bucket> ddp_buckets(std::span<const ReadyGradient> gradients, const Stack& stack, Bytes value) {
  return ddp_buckets(gradients, {first_bucket(stack), largest_bucket(stack)}, stack.overlap, value);
}

std::vector<Bucket> broadcast_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value) {
  BucketFiller filler;
  for (const Gradient& tensor : tensors) {
    filler.add(tensor, tensor.elements * value);
    if (filler.open_bytes() >= limit) filler.close();
  }
  return filler.take();
}

std::vector<Bucket> reduce_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value) {
  BucketFiller filler;
  for (const Gradient& tensor : tensors) {
    if (filler.open_bytes() + tensor.elements * value > limit) filler.close();
    filler.add(tensor, tensor.elements * value);
  }
  return filler.take();
}

}  // namespace trainyard
