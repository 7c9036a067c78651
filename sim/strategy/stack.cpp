#include "strategy/stack.hpp"

#include "config/read.hpp"

namespace trainyard {
namespace {

void validate(const Stack& stack, config::Problems& problems) {
  problems.check_name(stack.name);
  if (!problems.readable("bucket_first") || !problems.readable("bucket_cap")) return;
  if (stack.bucket_first.value > stack.bucket_cap.value) {
    problems.warning("bucket_first", "the first bucket is larger than the others",
                     "it is meant to be small, so that the first all-reduce starts early");
  }
}

}  // namespace

Bytes size_of(GradientDtype dtype, Bytes computed) {
  if (dtype == GradientDtype::as_computed) return computed;
  return dtype == GradientDtype::fp16 ? Bytes(2) : Bytes(4);
}

Stack load_stack(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return config::read<Stack>(document, validate, warnings);
}

}  // namespace trainyard
