#include "strategy/stack.hpp"

#include "config/read.hpp"

#include <utility>

namespace trainyard {
namespace {

void validate(const Stack& stack, config::Problems& problems) {
  problems.check_name(stack.name);
  if (stack.servers.partition && stack.servers.spread_above) {
    problems.error("servers.spread_above", "tensors are cut by a partition, or spread evenly",
                   "keep one of them");
  }
  if (!problems.readable("bucket_first") || !problems.readable("bucket_cap")) return;
  for (const auto& [key, size] :
       {std::pair("bucket_first", &stack.bucket_first), std::pair("bucket_cap", &stack.bucket_cap)}) {
    if (!stack.fusion || !*size) continue;
    problems.error(key, "tensor fusion takes the place of buckets",
                   "set fusion.threshold, or leave out \"fusion\"");
  }
  if (first_bucket(stack) > largest_bucket(stack)) {
    problems.warning("bucket_first", "the first bucket is larger than the others",
                     "it is meant to be small, so that the first all-reduce starts early");
  }
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

Bytes size_of(GradientDtype dtype, Bytes computed) {
  if (dtype == GradientDtype::as_computed) return computed;
  return dtype == GradientDtype::fp16 ? Bytes(2) : Bytes(4);
}

Stack load_stack(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return config::read<Stack>(document, validate, warnings);
}

}  // namespace trainyard
