// Changes that `explain` tries: whatever holds up a job, its key is among them and helps.

#include "explain/what_would_help.hpp"

#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// The largest gain in throughput of the changes that set this key; -1 if none does.
double gain_of(const std::string& experiment, const Overrides& overrides, const std::string& key) {
  const ResolvedExperiment resolved = testing::shipped_experiment(experiment, overrides);
  const auto throughput = [&](const Overrides& keys) {
    const std::string answer = in_children(1, 1, [&](int) {
                                 const Run run = simulate(testing::shipped_experiment(experiment, keys),
                                                          {.timeline = false, .rows = false, .learn = false});
                                 return packed({run.pace.throughput});
                               }).front();
    return unpacked(answer).front();
  };
  const double before = throughput(overrides);
  double most = -1;
  for (const WhatIf& change : what_ifs(resolved)) {
    if (!change.reason.empty() || change.set.front().first != key) continue;
    Overrides keys = overrides;
    keys.insert(keys.end(), change.set.begin(), change.set.end());
    most = std::max(most, throughput(keys) / before - 1);
  }
  return most;
}

}  // namespace

TEST_CASE("a job that waits for its loader is helped by what limits the loader") {
  const std::string job = "resnet50_dgx2_input";
  CHECK(gain_of(job, {{"input.workers", "1"}}, "input.workers") > 0.5);
  CHECK(gain_of(job, {{"input.workers", "3"}}, "platform.node.devices.cpu.cores") > 0.5);
  CHECK(gain_of(job, {}, "platform.node.devices.cpu.cores") > 0.5);
  CHECK(gain_of(job, {}, "model.input.decode") > 0.5);
  // then its cores limit it
  CHECK(gain_of(job, {{"platform.node.storage.bandwidth", "1 GB/s"}}, "platform.node.storage.bandwidth") >
        0.3);
  CHECK(gain_of(job, {{"platform.node.storage.shared", "1 GB/s"}}, "platform.node.storage.shared") > 0.3);
  const Overrides slow_memory{{"model.input.memory", "20 MB"},
                              {"platform.node.devices.cpu.memory_bandwidth", "20 GB/s"}};
  CHECK(gain_of(job, slow_memory, "platform.node.devices.cpu.memory_bandwidth") > 0.5);
  const Overrides on_gpu{{"input.decode", "gpu"}, {"gpu.image_decoder", "4 ms"}};
  CHECK(gain_of(job, on_gpu, "gpu.image_decoder") > 0.5);
  CHECK(gain_of(job, on_gpu, "input.decode") > 0.2);
  // Workers decode on CPUs alone: the change takes them away.
  const Overrides one_worker{{"input.workers", "1"}, {"gpu.image_decoder", "0.1 ms"}};
  CHECK(gain_of(job, one_worker, "input.decode") > 0.5);
}

TEST_CASE("a shard that holds one large tensor is named, and spreading large tensors helps") {
  const std::string job = "inception_v3_dgx1_p100_server";
  const Overrides one_large{
      {"model", "vgg16"},    {"batch_per_gpu", "16"}, {"sync.shards", "4"},
      {"platform", "dgx1v"}, {"nodes", "4"},          {"stack.servers.assign", "round_robin"},
      {"steps.warmup", "1"}, {"steps.measured", "2"}, {"steps.repeats", "1"}};
  CHECK(gain_of(job, one_large, "stack.servers.spread_above") > 0.3);
  const std::string layer = in_children(1, 1, [&](int) {
                              const Run run = simulate(testing::shipped_experiment(job, one_large),
                                                       {.timeline = false, .rows = false, .learn = false});
                              const std::optional<LoadedShard>& shard = updates_of(run)->loaded_shard;
                              return shard ? shard->layer : std::string("none");
                            }).front();
  CHECK(layer == "fc6");
  Overrides spread = one_large;
  spread.emplace_back("stack.servers.spread_above", "1 MB");
  const std::string none = in_children(1, 1, [&](int) {
                             const Run run = simulate(testing::shipped_experiment(job, spread),
                                                      {.timeline = false, .rows = false, .learn = false});
                             return std::string(updates_of(run)->loaded_shard ? "one" : "none");
                           }).front();
  CHECK(none == "none");
}

TEST_CASE("a step that waits for its host is helped by a faster one") {
  const Overrides small{{"platform", "dgx_h100"},  {"model", "bert_base"}, {"batch_per_gpu", "8"},
                        {"precision", "amp_bf16"}, {"stack", "pytorch"},   {"gpus", "1"}};
  CHECK(gain_of(std::string(no_file), small, "platform.node.host.launch") > 0.5);
  CHECK(gain_of(std::string(no_file), small, "batch_per_gpu") > 0.5);
  const config::Catalogue shipped{{TRAINYARD_SOURCE_DIR}};
  const auto changes = [&](const std::string& stack) {
    Overrides with = small;
    with[4].second = stack;
    return stack_changes(shipped, testing::shipped_experiment(no_file, with)).size();
  };
  CHECK(changes("pytorch") == 2);  // torch.compile and CUDA graphs
  CHECK(changes("pytorch_compile") == 1);
  CHECK(changes("pytorch_ddp") == 0);
}
