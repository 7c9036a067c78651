// How busy the parts of a machine are, against sums that can be made by hand, and on every shipped machine.

#include "run/utilization.hpp"

#include "platform/load.hpp"
#include "run/figures.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "workload/model_file.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Run loader_run(const std::string& experiment, Overrides overrides, bool is_real = true) {
  if (is_real) overrides.emplace_back("input.data", "real");
  return simulate(testing::shipped_experiment(experiment, overrides), {.fidelity = Fidelity::closed});
}

double share(const Run& run, Resource resource) { return utilization(run, resource).value().share; }

bool is_assumed(const Run& run, Resource resource) { return utilization(run, resource).value().is_assumed; }

std::string reason(const Run& run, Resource resource) {
  const Known<Utilization> use = utilization(run, resource);
  return use ? "known" : use.error();
}

doctest::Approx exactly(double number) { return doctest::Approx(number).epsilon(1e-9); }

std::filesystem::path file_of(const std::string& folder, const std::string& name) {
  return std::filesystem::path(TRAINYARD_SOURCE_DIR) / folder / (name + ".yaml");
}

std::vector<std::string> shipped(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TRAINYARD_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  return names;
}

void check_all(const Run& run) {
  for (const Resource resource : all_resources) {
    CAPTURE(std::string(name_of(resource)));
    CAPTURE(reason(run, resource));
    REQUIRE(utilization(run, resource));
    CHECK(share(run, resource) >= 0);
    CHECK(share(run, resource) <= 1);
  }
}

}  // namespace

TEST_CASE("cores, host memory and storage are busy for what the samples of a step take") {
  const Run run = loader_run("resnet50_dgx2", {{"platform.node.storage.bandwidth", "4 GB/s"}});
  const double samples_per_s = 16 * 128 / run.pace.time.si();
  CHECK(share(run, Resource::cpu) == exactly(samples_per_s * 4e-3 / 48));
  CHECK(share(run, Resource::host_memory) == exactly(samples_per_s * (3.8e6 + 602e3) / 256e9));
  CHECK(share(run, Resource::storage) == exactly(samples_per_s * 115e3 / 4e9));
}

TEST_CASE("GPUs and links that wait for samples are busy for the part of the step that they take alone") {
  const Overrides two{{"platform", "workstation_2080ti_nvlink"},
                      {"nodes", "1"},
                      {"model", "resnet18"},
                      {"batch_per_gpu", "16"},
                      {"sync.algorithm", "ring"},
                      {"stack.broadcast_buffers", "false"},
                      {"model.input.decode", "100 ms"}};
  const Run run = loader_run("resnet50_dgx2", two);
  const double step = 32 * 100e-3 / 14;
  REQUIRE(run.pace.time.si() == exactly(step));
  CHECK(share(run, Resource::cpu) == exactly(1));
  CHECK(share(run, Resource::gpu) ==
        exactly(compute_time(loader_run("resnet50_dgx2", two, false)).si() / step));
  REQUIRE(run.links.rows.size() == 2);
  const double bytes = 11'689'512 * 4.0;  // a ring of two: half of the gradients twice
  CHECK(share(run, Resource::network) == exactly(bytes / (run.links.rows.front().capacity.si() * step)));
}

TEST_CASE("samples that need no decoding leave the cores idle and are copied through memory four times") {
  const Run run = loader_run("bert_large_dgx_a100", {});
  CHECK(share(run, Resource::cpu) == 0);
  CHECK_FALSE(is_assumed(run, Resource::cpu));
  const double stored = *run.experiment.model->sequence_length * 6;
  CHECK(share(run, Resource::host_memory) == exactly(run.pace.throughput * 4 * stored / (2 * 204.8e9)));
}

TEST_CASE("GPUs that decode get the stored sample through host memory") {
  const Run run = loader_run("resnet50_dgx2", {{"gpu.image_decoder", "0.1 ms"}, {"input.decode", "gpu"}});
  CHECK(share(run, Resource::cpu) == 0);
  CHECK(share(run, Resource::host_memory) == exactly(run.pace.throughput * 2 * 115e3 / 256e9));
}

TEST_CASE("kernels and the loader of ranks on processors keep the same cores busy") {
  const Overrides images{{"model", "resnet50"}, {"job", "{epochs: 1}"}};
  const Run run = loader_run("nt3_theta", images);
  CHECK(share(run, Resource::cpu) ==
        exactly(share(run, Resource::gpu) + 20 * 4e-3 / 64 / run.pace.time.si()));
  CHECK(share(run, Resource::host_memory) == exactly(20 * 3.8e6 / 88.4e9 / run.pace.time.si()));
}

TEST_CASE("a use is unknown, with the reason, only where a file omits a figure or nothing is read") {
  const Run without = loader_run("resnet50_dgx2", {{"platform.node.storage", "none"},
                                                   {"platform.node.devices.cpu.memory_bandwidth", "none"}});
  CHECK(reason(without, Resource::storage).find("node.storage") != std::string::npos);
  CHECK(reason(without, Resource::host_memory).find("cpu.memory_bandwidth") != std::string::npos);
  CHECK(reason(without, Resource::cpu) == "known");
  const Run synthetic = loader_run("resnet50_dgx2", {}, false);
  for (const Resource resource : {Resource::cpu, Resource::host_memory, Resource::storage})
    CHECK(reason(synthetic, resource).find("synthetic") != std::string::npos);
  CHECK(reason(synthetic, Resource::network) == "known");
}

TEST_CASE("a use that rests on an assumed figure says so, and has a figure of its own") {
  const Overrides stated{{"platform.node.storage.bandwidth", "25 GB/s"}};
  const auto has_figure = [](const Run& run) {
    return figures()[index_of("assumed_storage_utilization")].of(run).has_value();
  };
  const Run assumed = loader_run("resnet50_dgx2", {});
  CHECK(is_assumed(assumed, Resource::storage));
  CHECK(has_figure(assumed));
  CHECK_FALSE(is_assumed(assumed, Resource::cpu));  // 48 cores by Intel, 4 ms measured
  const Run specified = loader_run("resnet50_dgx2", stated);
  CHECK_FALSE(is_assumed(specified, Resource::storage));
  CHECK_FALSE(has_figure(specified));
  CHECK(is_assumed(assumed, Resource::host_memory));  // traffic of decoding
  const Overrides on_gpu{{"gpu.image_decoder", "0.1 ms"}, {"input.decode", "gpu"}};
  CHECK_FALSE(is_assumed(loader_run("resnet50_dgx2", on_gpu), Resource::host_memory));
  CHECK_FALSE(is_assumed(loader_run("nt3_theta", {}), Resource::host_memory));  // no copy to a device
  const Run waiting =
      loader_run("resnet50_dgx2", {{"platform.node.storage.bandwidth", "{value: 0.1 GB/s, assumed: slow}"}});
  CHECK(is_assumed(waiting, Resource::gpu));
  CHECK_FALSE(is_assumed(loader_run("resnet50_p3_2xlarge", {}), Resource::gpu));
}

TEST_CASE("every shipped machine states how busy a loader keeps each of its parts") {
  for (const std::string& platform : shipped("platforms")) {
    CAPTURE(platform);
    const auto check_loader = [&](const std::string& experiment, const std::string& model, Overrides more) {
      more.insert(more.end(), {{"platform", platform}, {"nodes", "1"}, {"random", "{}"}, {"model", model}});
      check_all(loader_run(experiment, more));
    };
    if (load_platform(config::load(file_of("platforms", platform))).ranks_on_processors) {
      check_loader("nt3_theta", "nt3", {});
      check_loader("nt3_theta", "resnet18", {{"job", "{epochs: 1}"}, {"batch_per_gpu", "8"}});
      continue;
    }
    check_loader("resnet50_dgx2", "resnet18", {{"batch_per_gpu", "8"}});
    check_loader("resnet50_dgx2", "t5_base", {{"batch_per_gpu", "1"}});
  }
}

TEST_CASE("every shipped model states the size of its samples and where that is from") {
  for (const std::string& model : shipped("workloads/models")) {
    CAPTURE(model);
    const Model spec = load_model(config::load(file_of("workloads/models", model)));
    REQUIRE(spec.input);
    for (const auto& size :
         {spec.input->bytes, spec.input->bytes_per_token, spec.input->memory, spec.input->to_device}) {
      if (size) CHECK_FALSE(size->source.empty());
    }
    CHECK((spec.input->bytes || spec.input->bytes_per_token));
    if (spec.input->decode) CHECK(spec.input->to_device);
  }
}
