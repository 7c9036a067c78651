// Sharded gradients that a stack keeps in buffers.

#include "experiment/stack_rules.hpp"
#include "units/text.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("sharded gradients that buffers hold in whole are a warning with their bytes") {
  Stack stack;
  stack.name = "s";
  stack.gradient_buffers = true;
  stack.gradient_dtype = GradientDtype::fp32;
  stack.bucket_first = stack.bucket_cap = Sourced<Bytes>{.value = Bytes{1e12}};
  Parallelism parallelism;
  parallelism.shard = Sharded::gradients;
  const auto warning = [&](int micro_batches) {
    return buffered_gradients_warning(stack, parallelism, 5e9, Precision::bf16, micro_batches);
  };
  REQUIRE(warning(1));
  CHECK(warning(1)->severity == Severity::warning);
  CHECK(warning(1)->key_path == "parallelism.shard");
  CHECK(warning(1)->message.find(gpu_memory(Bytes{20e9})) != std::string::npos);
  CHECK(warning(8)->message.find("each of 8 micro-batches") != std::string::npos);
  stack.bucket_first = stack.bucket_cap = Sourced<Bytes>{.value = Bytes{9e9}};
  CHECK_FALSE(warning(8));
  stack.bucket_cap = Sourced<Bytes>{.value = Bytes{1e12}};
  stack.gradient_buffers = false;
  CHECK_FALSE(warning(8));
  stack.gradient_buffers = true;
  parallelism.shard = Sharded::optimizer;
  CHECK_FALSE(warning(8));
}
