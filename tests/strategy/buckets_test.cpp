#include "strategy/buckets.hpp"

#include "config/diagnostic.hpp"
#include "workload/make_trace.hpp"
#include "workload/resnet.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr double mebi = 1024 * 1024;
constexpr Bytes single{4};

/// Gradients with these numbers of fp32 bytes, each completed by a separate op.
std::vector<ReadyGradient> gradients_of(const std::vector<double>& bytes) {
  std::vector<ReadyGradient> ready;
  for (const double size : bytes) {
    const int op = static_cast<int>(ready.size());
    ready.push_back({{"t" + std::to_string(op), size / 4}, op});
  }
  return ready;
}

std::vector<double> sizes_of(const std::vector<Bucket>& buckets) {
  std::vector<double> sizes;
  for (const Bucket& bucket : buckets) sizes.push_back(bucket.bytes.si());
  return sizes;
}

std::vector<double> ddp_sizes(const std::vector<double>& bytes) {
  return sizes_of(ddp_buckets(gradients_of(bytes), Stack{}, single));
}

Trace resnet50_trace(Precision precision) {
  const Model model{"resnet50", "", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  return make_trace(model, 128, precision, Optimizer::momentum);
}

}  // namespace

TEST_CASE("ResNet-50's buckets are PyTorch's") {
  const Trace trace = resnet50_trace(Precision::fp32);
  const std::vector<ReadyGradient> ready = ready_gradients(trace);
  CHECK(ready.size() == 161);
  const std::vector<Bucket> buckets = ddp_buckets(ready, Stack{}, single);
  CHECK(sizes_of(buckets) == std::vector<double>{8'196'000, 31'502'336, 26'255'360, 26'550'272, 9'724'160});
  REQUIRE(buckets.size() == 5);

  const std::size_t tensors[] = {2, 15, 12, 51, 81};
  const char* first[] = {"fc.bias", "layer4.2.bn3.bias", "layer4.1.bn1.bias", "layer4.0.bn1.bias",
                         "layer3.0.bn3.bias"};
  const char* last[] = {"fc.weight", "layer4.1.conv2.weight", "layer4.0.conv2.weight",
                        "layer3.0.downsample.0.weight", "conv1.weight"};
  const char* layer[] = {"fc", "layer4.1.conv2", "layer4.0.conv2", "layer3.0.downsample.0", "conv1"};
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    CHECK(buckets[i].gradients.size() == tensors[i]);
    CHECK(buckets[i].gradients.front().tensor == first[i]);
    CHECK(buckets[i].gradients.back().tensor == last[i]);
    const Op& op = trace.ops[static_cast<std::size_t>(buckets[i].ready_after)];
    CHECK(op.layer == layer[i]);
    CHECK(op.gradients.back().tensor == last[i]);
  }
}

TEST_CASE("the first bucket closes at 1 MiB, the others at 25 MiB, both after the tensor that reaches it") {
  CHECK(ddp_sizes({mebi / 2, mebi, 10 * mebi, 14 * mebi, 2 * mebi, mebi}) ==
        std::vector<double>{1.5 * mebi, 26 * mebi, mebi});
}

TEST_CASE("a bucket of exactly its limit is closed") {
  CHECK(ddp_sizes({mebi, 25 * mebi, 4}) == std::vector<double>{mebi, 25 * mebi, 4});
  CHECK(ddp_sizes({mebi - 4, 4, 25 * mebi - 4, 4}) == std::vector<double>{mebi, 25 * mebi});
}

TEST_CASE("a tensor larger than the cap is one bucket with what was open before it") {
  CHECK(ddp_sizes({mebi, 100 * mebi, mebi, 100 * mebi}) == std::vector<double>{mebi, 100 * mebi, 101 * mebi});
}

TEST_CASE("a step without gradients has no buckets") { CHECK(ddp_sizes({}).empty()); }

TEST_CASE("fp16 gradients halve the bytes and fill buckets with more tensors") {
  Stack stack;
  stack.gradient_dtype = GradientDtype::fp16;
  CHECK(sizes_of(ddp_buckets(gradients_of({mebi, mebi, 2 * mebi}), stack,
                             size_of(stack.gradient_dtype, Precision::fp32))) ==
        std::vector<double>{mebi, mebi});
}

TEST_CASE("without overlap the buckets are the same but ready only after the last gradient") {
  const Trace trace = resnet50_trace(Precision::fp32);
  Stack flat;
  flat.overlap = false;
  const auto buckets = ddp_buckets(ready_gradients(trace), flat, single);
  CHECK(sizes_of(buckets) == sizes_of(ddp_buckets(ready_gradients(trace), Stack{}, single)));
  for (const Bucket& bucket : buckets) {
    CHECK(trace.ops[static_cast<std::size_t>(bucket.ready_after)].layer == "conv1");
  }
}

TEST_CASE("a cap above the model is one flat bucket after the first") {
  Stack stack;
  stack.bucket_first = stack.bucket_cap = Sourced<Bytes>{Bytes(1e12)};
  const auto buckets = ddp_buckets(ready_gradients(resnet50_trace(Precision::amp)), stack,
                                   size_of(stack.gradient_dtype, Precision::fp32));
  CHECK(sizes_of(buckets) == std::vector<double>{4 * 25'557'032.0});
}

TEST_CASE("a bucket of 0 bytes is an input error") {
  Stack stack;
  stack.bucket_cap.emplace();
  CHECK_THROWS_AS(ddp_buckets(gradients_of({4}), stack, single), InputError);
}

TEST_CASE("buckets hold every gradient once, in order, and exceed their cap by less than their last tensor") {
  CHECK(rc::check([] {
    std::vector<double> bytes;
    const int count = *rc::gen::inRange(0, 60);
    for (int i = 0; i < count; ++i) bytes.push_back(4.0 * *rc::gen::inRange(1, 4'000'000));
    const auto ready = gradients_of(bytes);
    const auto buckets = ddp_buckets(ready, Stack{}, single);
    std::size_t next = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const double limit = b == 0 ? mebi : 25 * mebi;
      double sum = 0;
      for (const Gradient& gradient : buckets[b].gradients) {
        RC_ASSERT(gradient == ready.at(next).gradient);
        RC_ASSERT(sum < limit);
        sum += 4 * gradient.elements;
        ++next;
      }
      RC_ASSERT(buckets[b].bytes.si() == sum);
      RC_ASSERT(buckets[b].ready_after == ready.at(next - 1).op);
      RC_ASSERT(sum >= limit || b + 1 == buckets.size());
    }
    RC_ASSERT(next == ready.size());
  }));
}
