#include "bench/cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace trainyard::bench {

namespace {

/// The CPU time that a run on this number of GPUs may take.
Seconds cpu_limit_of(double ranks) {
  return Seconds(ranks <= 8 ? 0.05 : ranks <= 64 ? 0.06 : ranks <= 65536 ? 0.2 : 0.5);
}

Case training_case(const std::string& name, const std::string& override, double ranks) {
  return {.name = name,
          .arguments = {"run", TRAINYARD_SOURCE_DIR "/workloads/experiments/resnet50_dgx2.yaml", "--set",
                        override, "--json"},
          .answer = "/step_time_s",
          .cpu_limit = cpu_limit_of(ranks)};
}

/// Every shipped experiment, by name.
std::vector<Case> shipped_cases(const std::string& program) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/workloads/experiments")) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> all;
  for (const std::string& file : files) {
    const std::vector<std::string> arguments{"run", file, "--json"};
    const nlohmann::json found = nlohmann::json::parse(run_case(program, arguments).output);
    const double ranks = found.at("ranks");
    const bool is_step = found.at("updates_per_s").is_null();
    const std::string name = std::filesystem::path(file).stem().string();
    all.push_back({.name = fmt::format("{}, {} GPU{}", name, ranks, ranks == 1 ? "" : "s"),
                   .arguments = arguments,
                   .answer = "/step_time_s",
                   .cpu_limit = is_step ? std::optional(cpu_limit_of(ranks)) : std::nullopt,
                   .has_closed_form = is_step});
  }
  return all;
}

/// A collective of 64 MiB on a platform of this folder, or a shipped one.
Case collective_case(const std::string& name, double cpu_limit, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "collective");
  arguments.insert(arguments.end(), {"-b", "64M", "-e", "64M", "--json"});
  return {.name = name,
          .arguments = std::move(arguments),
          .answer = "/rows/0/time_s",
          .cpu_limit = Seconds(cpu_limit)};
}

/// The same on one GPU per node with latency and bandwidth alone, where textbook formulas hold.
Case flat_case(const std::string& name, double cpu_limit, const std::string& platform,
               const std::string& operation, const std::string& algorithm, int ranks) {
  return collective_case(name, cpu_limit,
                         {operation, "--platform", TRAINYARD_SOURCE_DIR "/tests/bench/platforms/" + platform,
                          "--nodes", std::to_string(ranks), "--nccl", "none", "--algorithm", algorithm});
}

std::vector<Case> collective_cases() {
  std::vector<Case> all{
      flat_case("ring, 1,024 ranks", 0.05, "flat.yaml", "all_reduce", "ring", 1024),
      flat_case("ring, 8,192 ranks", 0.15, "flat.yaml", "all_reduce", "ring", 8192),
      flat_case("ring, 65,536 ranks", 0.2, "flat.yaml", "all_reduce", "ring", 65536),
      flat_case("torus 32 x 32", 0.05, "torus.yaml", "all_reduce", "torus2d", 1024),
      flat_case("torus 256 x 256", 2, "torus.yaml", "all_reduce", "torus2d", 65536),
      flat_case("tree, 8,192 ranks", 0.3, "flat.yaml", "all_reduce", "tree", 8192),
      flat_case("torus, 8,192 ranks on a switch", 0.3, "flat.yaml", "all_reduce", "torus2d", 8192)};
  all[2].memory_limit = Bytes(100e6);
  all[4].memory_limit = Bytes(100e6);
  all[4].arguments.insert(all[4].arguments.end(), {"--set", "platform.fabric.dimensions=[256, 256]"});
  all.push_back(flat_case("ring, 1,000,000 ranks on a fat tree", 0.3, "fat_tree.yaml", "all_reduce", "ring",
                          1'000'000));
  all.back().memory_limit = Bytes(200e6);
  all.push_back(
      flat_case("all to all, 16,384 ranks on a torus", 0.3, "torus.yaml", "all_reduce", "direct", 16384));
  all.back().arguments.insert(all.back().arguments.end(), {"--set", "platform.fabric.dimensions=[128, 128]"});
  const std::vector<std::string> dgx1v{"--platform", "dgx1v", "--set", "platform.fabric.oversubscription=4"};
  const auto on_dgx1v = [&](std::vector<std::string> words) {
    words.insert(words.end(), dgx1v.begin(), dgx1v.end());
    return words;
  };
  all.push_back(collective_case("hierarchical, 8,192 GPUs on a fat tree", 0.3,
                                on_dgx1v({"all_reduce", "--nodes", "1024", "--algorithm", "hierarchical"})));
  all.push_back(collective_case("all_to_all, 1,024 GPUs on a fat tree", 0.1,
                                on_dgx1v({"all_to_all", "--nodes", "128"})));
  // one ring of the even nodes and one of the odd nodes, which share the uplinks of every leaf
  std::vector<std::string> two_rings{
      "all_reduce", "--platform", "dgx1v",       "--set", "platform.fabric.oversubscription=64",
      "--nodes",    "256",        "--algorithm", "ring"};
  for (int group = 0; group < 2; ++group) {
    std::string ranks;
    for (int node = group; node < 256; node += 2)
      ranks += fmt::format("{}{}-{}", ranks.empty() ? "" : ",", 8 * node, 8 * node + 7);
    two_rings.insert(two_rings.end(), {"--group", ranks});
  }
  all.push_back(collective_case("two contending rings of 1,024 GPUs", 0.06, std::move(two_rings)));
  return all;
}

/// Ranks that share a model; GPT-3 on 1,024 GPUs is a shipped experiment.
std::vector<Case> layout_cases() {
  std::string stages = "parallelism.stages=[";
  for (int stage = 0; stage < 64; ++stage) stages += stage < 32 ? "2, " : stage < 63 ? "1, " : "1]";
  return {
      {.name = "Llama 3.1 405B, 16,384 GPUs",
       .arguments = {"run", TRAINYARD_SOURCE_DIR "/tests/bench/llama31_405b.yaml", "--json"},
       .answer = "/step_time_s",
       .cpu_limit = Seconds(2)},
      {.name = "GPT-3, 64 stages, 65,536 GPUs",
       .arguments = {"run", "gpt3_175b_dgx_a100", "--set", "nodes=8192", "--set", "parallelism.pipeline=64",
                     "--set", "parallelism.virtual_stages=1", "--set", stages, "--json"},
       .answer = "/step_time_s",
       .cpu_limit = Seconds(10)},
      {.name = "sweep of 9 layouts, 1,024 GPUs",
       .arguments = {"sweep", "gpt3_175b_dgx_a100", "--set", "parallelism.virtual_stages=1,2,3", "--set",
                     "parallelism.recompute=none,selective,full", "-j", "1", "--json"},
       .cpu_limit = Seconds(9 * 0.02)}};
}

/// Runs of many updates.
std::vector<Case> update_cases() {
  Case rule{.name = "100,000 updates of 64 workers, no network",
            .arguments = {"run", TRAINYARD_SOURCE_DIR "/workloads/experiments/resnet50_dgx2.yaml", "--json"},
            .answer = "/step_time_s",
            .cpu_limit = Seconds(1),
            .has_closed_form = false};
  for (const char* set : {"nodes=4", "sync.kind=parameter_server", "sync.placement=free",
                          "random.step.kind=exponential", "steps.measured=100000", "steps.repeats=1"})
    rule.arguments.insert(rule.arguments.end(), {"--set", set});
  Case log = rule;  // the same with its order log, replayed with a model of one parameter
  log.name = "the same with an order log, replayed";
  log.cpu_limit = Seconds(2);       // 6.4 million gradients
  log.memory_limit = Bytes(300e6);  // 155 MB of it are the log
  for (const char* set : {"learn.model=quadratic", "learn.rate=0.001"})
    log.arguments.insert(log.arguments.end(), {"--set", set});
  Case softmax{
      .name = "10,000 gradients of softmax on digits",
      .arguments = {"run", TRAINYARD_SOURCE_DIR "/workloads/experiments/digits_stragglers.yaml", "--json"},
      .answer = "/step_time_s",
      .cpu_limit = Seconds(1),
      .has_closed_form = false};
  for (const char* set : {"sync.placement=free", "sync.shards=1", "learn.batch=32", "learn.points=10",
                          "learn.until={updates: 10000}", "steps.repeats=1"})
    softmax.arguments.insert(softmax.arguments.end(), {"--set", set});
  Case servers{.name = "1,000 workers, 64 shards, 100 updates each",
               .arguments = {"run", TRAINYARD_SOURCE_DIR "/tests/bench/servers.yaml", "--json"},
               .answer = "/step_time_s",
               .cpu_limit = Seconds(60),  // 32 million flows
               .memory_limit = Bytes(300e6),
               .has_closed_form = false,
               .is_long = true};
  Case full = servers;
  full.name = "the same on 16 shards, whose links are full";
  full.arguments.insert(full.arguments.end(), {"--set", "sync.shards=16"});
  Case whole = servers;
  whole.name = "the same with whole tensors on 64 shards";
  whole.cpu_limit = Seconds(250);
  whole.memory_limit = Bytes(600e6);
  whole.arguments.insert(whole.arguments.end(), {"--set", "stack.servers.spread_above=4 MB"});
  return {rule, log, softmax, servers, full, whole};
}

}  // namespace

ChildRun run_case(const std::string& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ChildRun run = run_child(command);
  if (run.exit_code != 0)
    throw std::runtime_error(fmt::format("{} exited with {}", fmt::join(command, " "), run.exit_code));
  return run;
}

double answer_in(const std::string& output, const std::string& pointer) {
  return nlohmann::json::parse(output).at(nlohmann::json::json_pointer(pointer)).get<double>();
}

std::vector<Case> cases(const std::string& program) {
  std::vector<Case> all{{.name = "process start (--version)", .arguments = {"--version"}},
                        training_case("ResNet-50, DGX-2, 8 GPUs", "gpus=8", 8),
                        training_case("ResNet-50, DGX-2, 64 GPUs", "nodes=4", 64),
                        training_case("ResNet-50, DGX-2, 1,024 GPUs", "nodes=64", 1024),
                        training_case("ResNet-50, DGX-2, 8,192 GPUs", "nodes=512", 8192),
                        training_case("ResNet-50, DGX-2, 65,536 GPUs", "nodes=4096", 65536),
                        training_case("ResNet-50, DGX-2, 1,048,576 GPUs", "nodes=65536", 1 << 20)};
  all[4].memory_limit = Bytes(100e6);
  all[5].memory_limit = Bytes(100e6);
  all[6].memory_limit = Bytes(200e6);
  for (Case& one : collective_cases()) all.push_back(std::move(one));
  all.push_back({.name = "all-reduce of 1 GiB, DGX-2, 12 GPUs",
                 .arguments = {"collective", "all_reduce", "--platform", "dgx2", "--gpus", "12", "-b", "1G",
                               "-e", "1G", "--json"},
                 .answer = "/rows/0/time_s"});
  all.push_back({.name = "ring search, cube mesh and its pairs",
                 .arguments = {"topology", "dgx1v"},
                 .cpu_limit = Seconds(0.05)});
  for (Case& one : layout_cases()) all.push_back(std::move(one));
  for (Case& one : update_cases()) all.push_back(std::move(one));
  for (Case& one : shipped_cases(program)) all.push_back(std::move(one));
  return all;
}

}  // namespace trainyard::bench
