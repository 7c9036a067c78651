#include "strategy/buckets.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

std::vector<std::size_t> tensors_in(const std::vector<Bucket>& buffers) {
  std::vector<std::size_t> sizes;
  for (const Bucket& buffer : buffers) sizes.push_back(buffer.gradients.size());
  return sizes;
}

}  // namespace

TEST_CASE("a broadcast buffer closes once it is full, a reduction's before it is too full") {
  const std::vector<Gradient> tensors{{"a", 6}, {"b", 6}, {"c", 4}, {"d", 20}, {"e", 1}};
  CHECK(tensors_in(broadcast_buffers(tensors, Bytes(40), Bytes(4))) == std::vector<std::size_t>{2, 2, 1});
  CHECK(tensors_in(reduce_buffers(tensors, Bytes(40), Bytes(4))) == std::vector<std::size_t>{1, 2, 1, 1});
  CHECK(broadcast_buffers({}, Bytes(40), Bytes(4)).empty());
  CHECK(reduce_buffers({}, Bytes(40), Bytes(4)).empty());
}

TEST_CASE("buffers hold all tensors in order; a reduction's exceed the limit with one tensor only") {
  CHECK(rc::check([] {
    std::vector<Gradient> tensors;
    for (const int elements : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 100)))
      tensors.push_back({"", static_cast<double>(elements)});
    const Bytes limit(*rc::gen::inRange(1, 400));
    for (const auto& buffers :
         {broadcast_buffers(tensors, limit, Bytes(4)), reduce_buffers(tensors, limit, Bytes(4))}) {
      std::vector<Gradient> together;
      for (const Bucket& buffer : buffers) {
        double elements = 0;
        for (const Gradient& tensor : buffer.gradients) elements += tensor.elements;
        RC_ASSERT(buffer.bytes == elements * Bytes(4));
        together.insert(together.end(), buffer.gradients.begin(), buffer.gradients.end());
      }
      RC_ASSERT(together == tensors);
    }
    for (const Bucket& buffer : reduce_buffers(tensors, limit, Bytes(4)))
      RC_ASSERT(buffer.bytes <= limit || buffer.gradients.size() == 1);
    const auto sent = broadcast_buffers(tensors, limit, Bytes(4));
    for (std::size_t i = 0; i + 1 < sent.size(); ++i) RC_ASSERT(sent[i].bytes >= limit);
  }));
}
