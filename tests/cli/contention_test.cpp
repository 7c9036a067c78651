// Jobs that do not have the network for themselves: neighbours, background traffic, links that fail.

#include "process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// Two nodes below leaves of one node each, whose uplinks carry an eighth of what the nodes can send.
constexpr const char* job =
    "platform: dgx1v\nnodes: 2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n"
    "set: {platform.fabric.nodes_per_leaf: 1, platform.fabric.oversubscription: 8}\n";

/// The same job where it sets nothing of the machine.
constexpr const char* neighbour =
    "platform: dgx1v\nnodes: 2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n";

Ended run_job(const Scratch& scratch, const std::string& more, const std::string& fidelity = "flow") {
  return run_program({"run", scratch.put("job.yaml", job + more), "--json", "--fidelity", fidelity});
}

Json result_of(const Ended& ended) {
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

double step_time(const Ended& ended) { return result_of(ended)["step_time_s"]; }

/// Most of it is hidden behind backward: it shows what a step's time hides.
double communication_time(const Ended& ended) { return result_of(ended)["communication_time_s"]; }

}  // namespace

TEST_CASE("background traffic over the same uplink slows a step, elsewhere it does not") {
  const Scratch scratch;
  const double alone = step_time(run_job(scratch, ""));
  const std::string from_node0 = "background:\n  - {from: node0.gpu7, to: node1.gpu7, rate: 100 GB/s}\n";
  const std::string elsewhere = "background:\n  - {from: node2, to: node3, rate: 100 GB/s}\n";
  CHECK(communication_time(run_job(scratch, from_node0)) > 1.1 * communication_time(run_job(scratch, "")));
  CHECK(step_time(run_job(scratch, from_node0)) > alone);
  CHECK(step_time(run_job(scratch, elsewhere)) == doctest::Approx(alone).epsilon(1e-9));
}

TEST_CASE("a neighbour on other leaves changes nothing, one below the same leaf slows the step") {
  const Scratch scratch;
  (void)scratch.put("other.yaml", neighbour);
  const double alone = step_time(run_job(scratch, ""));
  CHECK(step_time(run_job(scratch, "neighbours: [other.yaml]\n")) == doctest::Approx(alone).epsilon(1e-9));
  // leaves of nodes 0-1, 2-3 and 4-5: the third node of each job is below the middle one
  const std::string three =
      "platform: dgx1v\nnodes: 3\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n"
      "set: {platform.fabric.nodes_per_leaf: 2, platform.fabric.oversubscription: 16}\n";
  (void)scratch.put("three.yaml",
                    "platform: dgx1v\nnodes: 3\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n");
  const auto time = [&](const std::string& more) {
    return communication_time(run_program({"run", scratch.put("job3.yaml", three + more), "--json"}));
  };
  CHECK(time("neighbours: [three.yaml]\n") > 1.2 * time(""));
}

TEST_CASE("a neighbour on another platform, or with neighbours of its own, is an error at its key") {
  const Scratch scratch;
  (void)scratch.put("dgx2.yaml", "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n");
  const Ended elsewhere = run_job(scratch, "neighbours: [dgx2.yaml]\n");
  CHECK(elsewhere.code == 3);
  CHECK(has(elsewhere.err, "runs on dgx2, not on dgx1v"));
  const Ended itself = run_job(scratch, "neighbours: [job.yaml]\n");
  CHECK(itself.code == 3);
  CHECK(itself.err.find("neighbours") != std::string::npos);
}

TEST_CASE("a link that slows down slows the step, one that fails for good ends it with 4") {
  const Scratch scratch;
  const double alone = step_time(run_job(scratch, ""));
  const auto event = [](const std::string& at, const std::string& bandwidth) {
    return "  - {at: " + at + ", link: node0.nic0->fabric, bandwidth: " + bandwidth + "}\n";
  };
  CHECK(step_time(run_job(scratch, "events:\n" + event("10 ms", "1 GB/s"))) > 1.01 * alone);
  const double back =
      step_time(run_job(scratch, "events:\n" + event("10 ms", "0 GB/s") + event("2 s", "12 GB/s")));
  CHECK(back > 2);
  const Ended failed = run_job(scratch, "events:\n" + event("10 ms", "0 GB/s"));
  CHECK(failed.code == 4);
  CHECK(failed.err.find("node0.nic0->fabric") != std::string::npos);
}

TEST_CASE("links and ends that do not exist are errors with what was meant") {
  const Scratch scratch;
  const Ended link = run_job(scratch, "events: [{at: 1 ms, link: node0.nic0->fabrik, bandwidth: 1 GB/s}]\n");
  CHECK(link.code == 3);
  CHECK(link.err.find("node0.nic0->fabric") != std::string::npos);
  CHECK(run_job(scratch, "background: [{from: rank3, to: node1, rate: 1 GB/s}]\n").code == 3);
  CHECK(run_job(scratch, "background: [{from: node0.gpu9, to: node1, rate: 1 GB/s}]\n").code == 3);
  CHECK(run_job(scratch, "background: [{from: node1, to: node1, rate: 1 GB/s}]\n").code == 3);
}

TEST_CASE("a job whose link failed ends with 4 although others go on beside it") {
  const Scratch scratch;
  const std::string failed = "events: [{at: 10 ms, link: node0.nic0->fabric, bandwidth: 0 GB/s}]\n";
  for (const char* fidelity : {"flow", "steps"}) {
    CAPTURE(fidelity);
    const Ended ended =
        run_job(scratch, failed + "background: [{from: node2, to: node3, rate: 1 GB/s}]\n", fidelity);
    CHECK(ended.code == 4);
    CHECK(ended.err.find("node0.nic0->fabric") != std::string::npos);
  }
}

TEST_CASE("a job that waits long for a link while others send on keeps --max-time") {
  const Scratch scratch;
  const std::string long_wait =
      scratch.put("long.yaml", std::string(job) +
                                   "background: [{from: node2, to: node3, rate: 1 GB/s}]\nevents:\n"
                                   "  - {at: 10 ms, link: node0.nic0->fabric, bandwidth: 0 GB/s}\n"
                                   "  - {at: 4000 s, link: node0.nic0->fabric, bandwidth: 12 GB/s}\n");
  const Ended ended = run_program({"run", long_wait, "--max-time", "3s"});
  CHECK(ended.code == 4);
  CHECK(contains(ended.err, "stopped after --max-time 3 s"));
}

TEST_CASE("an event's bandwidth is that of a failed link, or one that a link can have") {
  const Scratch scratch;
  for (const char* const bandwidth : {"3e-300 GB/s", "1e-320 B/s", "900 B/s"}) {
    const Ended ended = run_job(
        scratch, fmt::format("events: [{{at: 1 ms, link: node0.nic0->fabric, bandwidth: {}}}]\n", bandwidth));
    CHECK(ended.code == 3);
    CHECK(contains(ended.err, "events[0].bandwidth") + contains(ended.err, "1 kB/s or more") >= 1);
  }
}

TEST_CASE("the use of a link that slowed down is that of what it could still carry") {
  const Scratch scratch;
  const Json result =
      result_of(run_job(scratch, "events: [{at: 0 ms, link: node0.nic0->fabric, bandwidth: 0.2 GB/s}]\n"));
  CHECK(result["busiest_link"] == "node0.nic0->fabric");
  CHECK(result["link_utilization_max"] > 0.5);
  CHECK(result["link_utilization_max"] <= 1);
}

TEST_CASE("what no fidelity, link or neighbour can do is refused") {
  const Scratch scratch;
  CHECK(run_job(scratch, "background: [{from: node2, to: node3, rate: 1 GB/s}]\n", "closed").code == 3);
  const Ended faster =
      run_job(scratch, "events: [{at: 0 ms, link: node0.nic0->fabric, bandwidth: 200 GB/s}]\n");
  CHECK(faster.code == 3);
  CHECK(faster.err.find("12.5 GB/s") != std::string::npos);
  (void)scratch.put("other.yaml", job);  // it sets keys of the platform
  CHECK(run_job(scratch, "neighbours: [other.yaml]\n").code == 3);
}
