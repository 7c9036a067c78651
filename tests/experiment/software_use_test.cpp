#include "experiment/software_use.hpp"

#include "config/document.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

OpSlowdown slowdown_on(const std::string& gpu) {
  Software software;
  software.launch = Sourced<Seconds>{.value = Seconds(5e-6)};
  software.table = read_software_factors("t.csv", "ops,factor\nkernels,1.5\nlaunch,2\n");
  ResolvedExperiment resolved;
  resolved.gpu = load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + gpu + ".yaml"));
  resolved.settings.precision = Precision::bf16;
  resolved.classes.emplace_back();
  return slowdown_of(software, resolved);
}

}  // namespace

TEST_CASE(
    "factors on kernels leave a profile alone whose framework ops were recorded, launches cost the same") {
  for (const std::string gpu : {"h100_measured", "h200_measured"}) {
    const OpSlowdown recorded = slowdown_on(gpu);
    CAPTURE(gpu);
    for (const OpGroup group : all_op_groups) CHECK(recorded.factor[group] == 1);
    CHECK(recorded.launch.si() == doctest::Approx(10e-6));
  }
  const OpSlowdown assumed = slowdown_on("h100_sxm_80gb");
  for (const OpGroup group : all_op_groups) CHECK(assumed.factor[group] == 1.5);
  CHECK(assumed.launch.si() == doctest::Approx(10e-6));
}

TEST_CASE("ops recorded in PyTorch are those of PyTorch's stacks; others get the profile without them") {
  const auto on = [](const std::string& platform, const std::string& stack) {
    return testing::shipped_experiment("resnet50_dgx2",
                                       {{"platform", platform}, {"precision", "amp"}, {"stack", stack}});
  };
  CHECK(on("dgx_h100", "pytorch_ddp").gpu.name == "h100_measured");
  const ResolvedExperiment other = on("dgx_h100", "mxnet_horovod");
  CHECK(other.gpu.name == "h100_sxm_80gb");
  CHECK(std::ranges::any_of(other.notes, [](const std::string& note) {
    return note.find("h100_measured") != std::string::npos && note.find("mxnet_horovod") != std::string::npos;
  }));
  CHECK(on("dgx_a100", "mxnet_horovod").gpu.name == on("dgx_a100", "pytorch_ddp").gpu.name);
}
