// Mistakes of experiments: each is shown once, at its key.

#include "errors_of.hpp"
#include "run/dgx2_runs.hpp"
#include "run/export_trace.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("what does not exist is an error with what does") {
  CHECK(message_of("resnet50_dgx", {}).find("did you mean 'resnet50_dgx2'") != std::string::npos);
  CHECK(message_of("resnet50_dgx2", {{"model", "resnet5"}}).find("did you mean 'resnet50'") !=
        std::string::npos);
  CHECK(message_of("resnet50_dgx2", {{"gpus", "17"}}).find("17") != std::string::npos);
  CHECK(message_of("resnet50_dgx2", {{"platfrom", "dgx2"}}).find("did you mean 'platform'") !=
        std::string::npos);
  // a trace replaces the file's model
  CHECK_THROWS_AS(message_of("resnet50_dgx2", {{"trace", "x.csv"}}), FileError);
}

TEST_CASE("an error about nodes and GPUs points at the key that is wrong, once") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "counts.yaml").string();
  struct Case {
    std::string lines, key;
    int line = 0;  ///< of four that are the same in all
  };
  for (const auto& [lines, key, line] : {
           Case{"platform: workstation_2080ti\nnodes: 4\n", "nodes", 6},
           Case{"platform: workstation_2080ti\ngpus: 1\nnodes: 4\n", "nodes", 7},
           Case{"platform: workstation_2080ti\ngpus_per_node: 1\nnodes: 4\n", "nodes", 7},
           Case{"platform: dgx2\nnodes: 2\ngpus_per_node: 17\n", "gpus_per_node", 7},
           Case{"platform: dgx2\nnodes: 2\ngpus: 33\n", "gpus", 7},
           Case{"platform: dgx2\nnodes: 100\ngpus: 1000\n", "nodes", 6},
           Case{"platform: dgx2\ngpus: 8\nnodes: 2\ngpus_per_node: 8\n", "nodes", 7},
           Case{"platform: dgx2\ngpus_per_node: 2\nnodes: 900000\n", "nodes", 7},
           Case{"platform: workstation_2080ti\nnodes: 4\nbackground: [{from: node0, to: node1, rate: 1 "
                "Gbps}]\n",
                "nodes", 6},
           Case{"platform: workstation_2080ti\nnodes: 1\nbackground: [{from: node0, to: node1, rate: 1 "
                "Gbps}]\n",
                "background", 7},
       }) {
    CAPTURE(lines);
    std::ofstream(file) << "model: resnet50\nstack: pytorch_ddp\nprecision: fp32\nbatch_per_gpu: 8\n"
                        << lines;
    const auto errors = errors_of([&] { resolve(catalogue(), file, {}); });
    REQUIRE(errors.size() == 1);
    CHECK(errors.front().file == file);
    CHECK(errors.front().key_path == key);
    CHECK(errors.front().line == line);
  }
  CHECK(message_of("resnet50_dgx2", {{"nodes", "4"}, {"platform", "workstation_2080ti"}})
            .find("--set nodes=4") != std::string::npos);
}

TEST_CASE(
    "nodes and GPUs that contradict each other are an error, and a file's nodes follow GPUs that are set") {
  const auto nodes_with = [](const Overrides& overrides) {
    const ResolvedExperiment experiment = testing::shipped_experiment("resnet50_p3_16xlarge_x2", overrides);
    CHECK(experiment.settings.nodes == experiment.cluster->nodes);
    return experiment.cluster->nodes;
  };
  CHECK(nodes_with({}) == 2);
  for (const char* const gpus : {"1", "7", "8"}) CHECK(nodes_with({{"gpus", gpus}}) == 1);
  for (const char* const gpus : {"9", "16"}) CHECK(nodes_with({{"gpus", gpus}}) == 2);
  CHECK(nodes_with({{"gpus", "8"}, {"gpus_per_node", "4"}}) == 2);
  CHECK(nodes_with({{"nodes", "100"}, {"gpus", "400"}, {"gpus_per_node", "4"}}) == 100);
  CHECK(nodes_with({{"nodes", "100"}, {"gpus", "793"}}) == 100);
  const std::string none_left = message_of("resnet50_dgx2", {{"nodes", "100"}, {"gpus", "1000"}});
  CHECK(none_left.find("100 nodes of dgx2 requested, but 1000 GPUs fill 63") != std::string::npos);
  CHECK(none_left.find("gpus_per_node: 10") != std::string::npos);
  CHECK(!message_of("resnet50_dgx2", {{"nodes", "3"}, {"gpus", "16"}}).empty());
  CHECK(!message_of("resnet50_dgx2", {{"nodes", "2"}, {"gpus", "8"}, {"gpus_per_node", "8"}}).empty());
}

TEST_CASE("all mistakes of an experiment come at once, each at its key") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "wrong.yaml").string();
  std::ofstream(file) << "platform: dgx2\ngpus: 400\nmodel: resnet51\nstack: pytorch_dpp\nprecision: bf16\n"
                         "batch_per_gpu: 8\n";
  try {
    resolve(catalogue(), file, {});
    FAIL("nothing found");
  } catch (const InputError& error) {
    std::vector<std::string> found;
    for (const Diagnostic& diagnostic : error.diagnostics()) found.push_back(diagnostic.key_path);
    CHECK(found == std::vector<std::string>{"precision", "stack", "model", "gpus"});
    CHECK(error.diagnostics()[3].line == 2);
    CHECK(error.diagnostics()[2].hint.find("did you mean 'resnet50'") != std::string::npos);
  }
}

TEST_CASE("a replay says which keys its trace has answered") {
  const TemporaryFolder folder;
  const std::string experiment = (folder.path / "user.yaml").string();
  std::ofstream(experiment) << "platform: dgx2\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 8\n";
  const auto notes_with = [&](const std::string& csv) {
    std::ofstream(folder.path / "t.csv") << csv;
    return notes_of(closed(resolve(catalogue(), experiment, {})));
  };
  const std::vector<std::string> silent = notes_with("phase,layer,duration_s\nforward,a,0.1\n");
  REQUIRE(silent.size() == 2);
  CHECK(silent[0].starts_with("durations come from the trace"));
  CHECK(silent[1].starts_with("the trace names neither gradients nor collectives"));
  const std::vector<std::string> named =
      notes_with("phase,layer,duration_s,communication,communication_bytes\nbackward,a,0.1,all_reduce,8\n");
  REQUIRE(named.size() == 2);
  CHECK(named[1].starts_with("collectives come from the trace"));

  std::ofstream(folder.path / "t.csv") << "";
  CHECK(message_of(experiment, {}).find("empty") != std::string::npos);
  CHECK(message_of(experiment, {{"model.nonsense", "1"}}).find("no model to set") != std::string::npos);
}

TEST_CASE("warnings of every file reach the result") {
  CHECK(!notes_of(closed(resolved({{"stack.bucket_first", "50 MiB"}}))).empty());
  CHECK(notes_of(closed(resolved({}))).empty());
}

TEST_CASE("keys of a stack that a kind of synchronisation cannot use are errors") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "clips.yaml") << "name: clips\ngradient_work: [{name: clip, only: [amp]}]\n";
  std::ofstream(folder.path / "e.yaml")
      << "platform: dgx2\ngpus: 4\nmodel: resnet50\nbatch_per_gpu: 16\nstack: clips.yaml\n"
         "sync: {kind: parameter_server}\n";
  const std::string file = (folder.path / "e.yaml").string();
  CHECK(message_of(file, {}).empty());
  CHECK(message_of(file, {{"precision", "amp"}}).find("'clip'") != std::string::npos);
  const Overrides each{{"accumulation", "2"}, {"stack.reduce_each_micro_batch", "true"}};
  CHECK(message_of(file, each).find("reduce_each_micro_batch: false") != std::string::npos);
}

TEST_CASE("a stack with a lowering cannot end recomputation early") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml")
      << "platform: dgx_h100\ngpus: 8\nmodel: gpt2_small\nbatch_per_gpu: 1\nprecision: bf16\n";
  const std::string file = (folder.path / "e.yaml").string();
  const Overrides early{{"parallelism.recompute", "full"}, {"stack.recompute_stops_early", "true"}};
  for (const std::string stack : {"mosaic", "pytorch"}) {
    Overrides keys = early;
    keys.emplace_back("stack", stack);
    const bool is_refused = message_of(file, keys).find("recompute_stops_early: false") != std::string::npos;
    CHECK(is_refused == (stack == "pytorch"));
  }
}
