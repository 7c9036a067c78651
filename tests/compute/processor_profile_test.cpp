#include "compute/processor_profile.hpp"

#include "errors_of.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

config::Document profile(const std::string& name) {
  return config::load(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/processors/" + name + ".yaml");
}

}  // namespace

TEST_CASE("a processor has the memory of the mode it is used in, the first one if none is named") {
  const GpuProfile cache = load_processor_profile(profile("xeon_phi_7230"));
  const GpuProfile mcdram = load_processor_profile(profile("xeon_phi_7230"), "mcdram");
  const GpuProfile flat = load_processor_profile(profile("xeon_phi_7230"), "flat");
  CHECK(mcdram.memory.capacity.value < cache.memory.capacity.value);
  CHECK(mcdram.memory.bandwidth.value > cache.memory.bandwidth.value);
  CHECK(cache.memory.bandwidth.value > flat.memory.bandwidth.value);
  CHECK(cache.is_processor);
  CHECK(cache.sms->value == 64);
  CHECK(compute_capability(cache) == 0);
}

TEST_CASE("an unknown memory mode is an error that names the others") {
  const Diagnostic error =
      only_error([] { (void)load_processor_profile(profile("xeon_phi_7230"), "hybrid"); });
  CHECK(error.message == "xeon_phi_7230 has no memory mode 'hybrid'");
  CHECK(error.hint == "memory_mode: cache, flat, mcdram");
}

TEST_CASE("a processor needs cores and a memory mode") {
  const auto errors = errors_of([] {
    (void)load_processor_profile(config::parse(
        "p.yaml",
        "name: p\nmemory_modes: {}\nmatrix: {fp32: {peak: {value: 1 TFLOP/s, assumed: a}}}\n"
        "vector: {elementwise: 1, batch_norm: 1, layer_norm: 1, pooling: 1, softmax: 1, embedding: 1, "
        "optimizer: 1, t0: 1 us}\nroofline: {value: {efficiency: 1, bandwidth_fraction: 1, t0: 1 us}, "
        "assumed: a}\n"));
  });
  std::vector<std::string> keys;
  for (const Diagnostic& error : errors) keys.push_back(error.key_path);
  CHECK(std::ranges::find(keys, "cores") != keys.end());
  CHECK(std::ranges::find(keys, "memory_modes") != keys.end());
}

TEST_CASE("the spread of nodes is assumed in every memory mode, not fitted to runs on several nodes") {
  for (const char* const mode : {"cache", "flat", "mcdram"}) {
    const GpuProfile some = load_processor_profile(profile("xeon_phi_7230"), mode);
    CHECK(some.variation->gpu->provenance == Provenance::assumed);
  }
}
