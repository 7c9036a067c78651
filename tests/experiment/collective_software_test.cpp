#include "experiment/collective_software.hpp"

#include "config/document.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

GpuProfile profile_of(const std::string& name) {
  return load_gpu_facts(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + name + ".yaml"));
}

/// Two of the GPUs in the place of a DGX A100's.
ResolvedExperiment two_of(const std::string& profile, const Overrides& more = {}) {
  Overrides overrides{{"platform.node.gpus.profile", profile}, {"nodes", "1"}, {"gpus", "2"}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::shipped_experiment("bert_large_dgx_a100", overrides);
}

bool has_note(const ResolvedExperiment& resolved) {
  return std::ranges::any_of(resolved.notes, [](const std::string& note) {
    return note.find("RCCL stands for NCCL") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("GPUs of AMD have no CUDA capability; NCCL between them is RCCL, and a note says so") {
  for (const char* name : {"mi250x_gcd_64gb", "mi300x_192gb"}) {
    CAPTURE(name);
    const GpuProfile gpu = profile_of(name);
    CHECK(compute_capability(gpu) == 0);
    CHECK(generation(gpu).empty());
    CHECK(nccl_capability(gpu) == 90);
    REQUIRE(rccl_note(gpu));
    CHECK(rccl_note(gpu)->find(name) != std::string::npos);
    const ResolvedExperiment two = two_of(name);
    CHECK(has_note(two));
    CHECK(two.library.library == CommunicationLibrary::rccl);
  }
  CHECK_FALSE(has_note(two_of("mi300x_192gb", {{"gpus", "1"}})));
  CHECK_FALSE(has_note(two_of("mi300x_192gb", {{"stack.nccl", "none"}})));
}

TEST_CASE("RCCL between GPUs of NVIDIA is an error that names the GPU") {
  CHECK(two_of("mi300x_192gb", {{"stack.library", "rccl"}}).library.library == CommunicationLibrary::rccl);
  CHECK_THROWS_WITH_AS((void)two_of("v100_sxm2_16gb", {{"stack.library", "rccl"}}),
                       doctest::Contains("v100_sxm2_16gb is none"), InputError);
}

TEST_CASE("a GPU with CUDA counts with its own capability") {
  const GpuProfile gpu = profile_of("v100_sxm2_16gb");
  CHECK(nccl_capability(gpu) == 70);
  CHECK_FALSE(rccl_note(gpu));
  CHECK(two_of("v100_sxm2_16gb").library.library == CommunicationLibrary::nccl);
  CHECK_FALSE(has_note(two_of("v100_sxm2_16gb")));
}
