// The part of the network that a run names as the limit of its communication makes the step shorter if it is
// twice as fast, by the keys that are named with it.

#include "explain/network_limit.hpp"

#include "config/catalogue.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Run simulated(const Overrides& keys) {
  return simulate(testing::shipped_experiment(no_file, keys),
                  {.timeline = false, .rows = false, .learn = false});
}

Overrides job_on(const std::string& platform, int nodes, const std::string& algorithm) {
  return {{"platform", platform},       {"nodes", std::to_string(nodes)},
          {"model", "vgg16"},           {"batch_per_gpu", "8"},
          {"precision", "fp32"},        {"stack", "pytorch_ddp"},
          {"sync.algorithm", algorithm}};
}

std::string in_words(const Overrides& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text.append(key).append("=").append(value).append(" ");
  return text;
}

/// Algorithm, protocol and channels of each collective.
bool chose_the_same(const Run& one, const Run& other) {
  return std::ranges::equal(
      step_of(one).collectives, step_of(other).collectives, [](const auto& a, const auto& b) {
        return a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
      });
}

/// What became of a job: impossible there, nothing to send, limited by latency, no key helps, ...
enum Kind { refused, alone, latency, no_key, other_choices, helped, useless };

/// Simulates a job, and again with the part that limits it twice as fast: the kind, then the fractions by
/// which the step is shorter, as promised and as simulated.
std::vector<double> tried(const Overrides& keys) {
  try {
    const Run run = simulated(keys);
    const std::optional<NetworkLimit> limit = network_limit(run);
    if (!limit) return {alone};
    if (limit->is_latency) return {latency};
    if (!limit->faster) return {no_key};
    Overrides faster = keys;
    faster.insert(faster.end(), limit->faster->set.begin(), limit->faster->set.end());
    const Run then = simulated(faster);
    const double promised = limit->gain / run.pace.time;
    const double shorter = 1 - then.pace.time / run.pace.time;
    const bool is_shorter = shorter > 0.1 * promised;
    return {static_cast<double>(is_shorter                  ? helped
                                : chose_the_same(run, then) ? useless
                                                            : other_choices),
            promised, shorter};
  } catch (const InputError&) {
    return {refused};
  }
}

/// Number of outcomes by kind; fails for each that is `useless`.
std::vector<int> checked(const std::vector<Overrides>& jobs) {
  std::vector<int> kinds(useless + 1);
  const auto answers = in_children(static_cast<int>(jobs.size()), 2,
                                   [&](int i) { return packed(tried(jobs[static_cast<std::size_t>(i)])); });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::vector<double> answer = unpacked(answers[i]);
    const auto kind = static_cast<std::size_t>(answer.front());
    ++kinds[kind];
    CAPTURE(in_words(jobs[i]));
    if (kind == useless) CHECK_MESSAGE(false, "promised ", answer[1], ", simulated ", answer[2]);
  }
  return kinds;
}

}  // namespace

TEST_CASE("the limit of every shipped machine, twice as fast, makes the step shorter") {
  std::vector<Overrides> jobs;
  for (const std::string& name : config::names({{TRAINYARD_SOURCE_DIR}}, config::Kind::platform)) {
    jobs.push_back(job_on(name, 1, "auto"));
    jobs.push_back(job_on(name, 2, "ring"));
  }
  const std::vector<int> kinds = checked(jobs);
  CHECK(kinds[helped] > 50);
  CHECK(kinds[no_key] < 3);
}

TEST_CASE("so does the limit of machines drawn at random") {
  std::mt19937 draw(14);
  const auto one_of = [&](const std::vector<std::string>& values) { return values[draw() % values.size()]; };
  std::vector<Overrides> jobs;
  for (int i = 0; i < 40; ++i) {
    const std::string platform = one_of({"tianshu", "ts4", "server_3090", "dss8440", "dgx2", "dlperf",
                                         "v100_pcie_server", "p3_16xlarge", "abci", "workstation_3090"});
    Overrides job = job_on(platform, draw() % 2 == 0 ? 1 : 3, one_of({"auto", "ring", "tree"}));
    const std::vector<std::string> factors{"0.25", "0.5", "1", "2", "4"};
    if (draw() % 2 == 0) job.emplace_back("platform.node.speed.pcie", one_of(factors));
    if (draw() % 2 == 0) job.emplace_back("platform.node.speed.sockets", one_of(factors));
    if (draw() % 2 == 0) job.emplace_back("platform.node.speed.nvlink", one_of(factors));
    if (draw() % 3 == 0) job.emplace_back("platform.fabric.nic", one_of({"10 Gbps", "50 Gbps", "200 Gbps"}));
    if (draw() % 4 == 0) job.emplace_back("platform.fabric.per_flow", one_of({"5 Gbps", "10 Gbps"}));
    if (draw() % 4 == 0) job.emplace_back("platform.fabric.oversubscription", one_of({"2", "4", "8"}));
    if (draw() % 4 == 0) job.emplace_back("platform.node.effective.staged", one_of({"2 GB/s", "8 GB/s"}));
    jobs.push_back(std::move(job));
  }
  CHECK(checked(jobs)[helped] > 10);
}

TEST_CASE("a connection through host memory is the limit, not the links that it crosses") {
  // Of PCIe, sockets and NICs none helps where each connection between GPUs is copied through host memory.
  Overrides job = job_on("ts4", 1, "ring");
  job.emplace_back("platform.node.effective.staged", "2 GB/s");
  const Run run = simulated(job);
  const std::optional<NetworkLimit> limit = network_limit(run);
  REQUIRE(limit);
  REQUIRE(limit->faster);
  CHECK(limit->faster->set == Overrides{{"platform.node.effective.staged", "4 GB/s"}});
  CHECK(limit->pace.held_by == ConnectionLimit::host_memory);
  const auto time_with = [&](const std::string& key, const std::string& value) {
    Overrides faster = job;
    faster.emplace_back(key, value);
    return simulated(faster).pace.time;
  };
  CHECK(time_with("platform.node.speed.pcie", "2") == run.pace.time);
  CHECK(time_with("platform.node.speed.sockets", "2") == run.pace.time);
  CHECK(time_with("platform.node.effective.staged", "4 GB/s") < 0.8 * run.pace.time);
}

TEST_CASE("a limit says whether its rate is assumed") {
  const auto is_assumed = [](const Overrides& job) { return network_limit(simulated(job))->pace.is_assumed; };
  CHECK(is_assumed(job_on("tianshu", 1, "ring")));  // 10 GB/s between the sockets
  Overrides measured = job_on("ts4", 1, "ring");
  measured.emplace_back("platform.node.effective.staged", "{value: 2 GB/s, measured: \"by us\"}");
  CHECK_FALSE(is_assumed(measured));
  Overrides assumed = job_on("ts4", 1, "ring");
  assumed.emplace_back("platform.node.effective.staged", "{value: 2 GB/s, assumed: \"for this test\"}");
  CHECK(is_assumed(assumed));
}
