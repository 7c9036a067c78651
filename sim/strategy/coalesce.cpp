#include "strategy/coalesce.hpp"

#include <utility>

namespace trainyard {

namespace {

void take(Bucket& buffer, const Gradient& tensor, Bytes bytes) {
  buffer.bytes += bytes;
  buffer.gradients.push_back(tensor);
}

}  // namespace

std::vector<Bucket> broadcast_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value) {
  std::vector<Bucket> buffers;
  Bucket open;
  for (const Gradient& tensor : tensors) {
    take(open, tensor, tensor.elements * value);
    if (open.bytes >= limit) buffers.push_back(std::exchange(open, {}));
  }
  if (!open.gradients.empty()) buffers.push_back(std::move(open));
  return buffers;
}

std::vector<Bucket> reduce_buffers(std::span<const Gradient> tensors, Bytes limit, Bytes value) {
  std::vector<Bucket> buffers;
  Bucket open;
  for (const Gradient& tensor : tensors) {
    const Bytes bytes = tensor.elements * value;
    if (!open.gradients.empty() && open.bytes + bytes > limit) buffers.push_back(std::exchange(open, {}));
    take(open, tensor, bytes);
  }
  if (!open.gradients.empty()) buffers.push_back(std::move(open));
  return buffers;
}

}  // namespace trainyard
