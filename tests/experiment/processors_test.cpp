#include "errors_of.hpp"
#include "experiment/collective_software.hpp"
#include "experiment/data_loading.hpp"
#include "experiment/prediction_error.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <limits>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

ResolvedExperiment nt3(const Overrides& overrides = {}) { return shipped_experiment("nt3_theta", overrides); }

std::string error_of(const Overrides& overrides) {
  const auto errors = errors_of([&] { nt3(overrides); });
  return errors.empty() ? std::string() : errors.front().message;
}

}  // namespace

TEST_CASE("a node without GPUs holds a rank on each socket, which MPI joins") {
  const ResolvedExperiment some = nt3();
  CHECK(some.platform.ranks_on_processors);
  CHECK(some.cluster->ranks() == 2);
  CHECK(some.library.library == CommunicationLibrary::mpich);
  CHECK(some.library.overheads.sums == some.gpu.sums->value);
  const ResolvedExperiment two =
      nt3({{"platform", "xeon_cluster"}, {"stack", "pytorch_gloo"}, {"random.gpus", "none"}});
  CHECK(two.cluster->ranks() == 4);
  CHECK(two.cluster->nodes == 2);
}

TEST_CASE("NCCL needs GPUs, and keys of a GPU have no effect on processors: both are errors") {
  CHECK(error_of({{"stack.library", "nccl"}}) == "NCCL joins GPUs, and the ranks of theta are on processors");
  CHECK(error_of({{"gpu.speed", "2"}}) == "no effect: the ranks of theta are on processors");
  CHECK(errors_of([] {
          shipped_experiment("resnet50_dgx2", {{"processor.cores", "2"}});
        })
            .front()
            .message == "no effect: the ranks of dgx2 are on GPUs");
  CHECK(error_of({{"processor.sums", "2 GB/s"}}).empty());
}

TEST_CASE("sums without a rate of their own run at that of element-wise ops") {
  GpuProfile gpu = nt3().gpu;
  gpu.sums.reset();
  CHECK(rate_of_sums(gpu).si() ==
        doctest::Approx(gpu.vector.elementwise.value * gpu.memory.bandwidth.value.si() / 3 / 64));
}

TEST_CASE("the factors and errors of runs on GPUs are not taken for processors") {
  const ResolvedExperiment some = nt3();
  CHECK(some.stack.slowdown.source.empty());
  CHECK(prediction_error(some).value().nearest.of.platform == "theta");
  CHECK_FALSE(predicted_job(some).has_value());
}

TEST_CASE("ranks on processors share their cores with the loader") {
  const Overrides real{{"model", "resnet50"}, {"job", "{epochs: 1}"}, {"input.data", "real"}};
  const ResolvedExperiment some = nt3(real);
  const DataLoading loading = data_loading(some, *some.cluster).value();
  CHECK(loading.taken.si() ==
        doctest::Approx(20 * some.model->input->decode->value.si() / 64).epsilon(1e-12));
  const Seconds step{10};
  CHECK(with_input(step, loading, some.settings.input) == step + loading.taken);
  const ResolvedExperiment gpus = shipped_experiment("resnet50_dgx2_input");
  CHECK(data_loading(gpus, *gpus.cluster)->taken == Seconds());
}

TEST_CASE("what processors cannot do is an error at its key") {
  CHECK(error_of({{"stack.intra_node", "host"}}) ==
        "no effect: the ranks of theta are on hosts (intra_node)");
  CHECK(error_of({{"platform.node.processors.memory_mode", "hybrid"}}) ==
        "xeon_phi_7230 has no memory mode 'hybrid'");
  CHECK(errors_of([&] { nt3({{"platform.node.processors.memory_mode", "hybrid"}}); }).size() == 1);
  CHECK(
      error_of(
          {{"model", "resnet50"}, {"job", "{epochs: 1}"}, {"input.data", "real"}, {"random.gpus", "profile"}})
          .starts_with("decoding on the cores of ranks is not simulated"));
}

TEST_CASE("MPI between GPUs has a note, and no expected error: the published runs are of NCCL") {
  const ResolvedExperiment some = shipped_experiment("resnet50_dgx2", {{"stack.library", "open_mpi"}});
  CHECK(std::ranges::any_of(some.notes, [](const std::string& note) {
    return note.starts_with("collectives: Open MPI between GPUs is taken for");
  }));
  CHECK_FALSE(prediction_error(some).has_value());
}

TEST_CASE("a platform has GPUs or processors") {
  const auto error = [](const Overrides& overrides) { return error_of(overrides); };
  CHECK(error({{"platform.node.gpus", "{count: 1, profile: k80}"}}) ==
        "the GPUs of a node hold its ranks (gpus)");
  CHECK(error({{"platform.node.devices", "{nic: {count: 1}}"}, {"platform.node.links", "[]"}}) ==
        "the node has no cpu");
}
