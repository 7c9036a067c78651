// Runs that are many updates long, as users start them.

#include "process.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json run_json(std::vector<std::string> set) {
  std::vector<std::string> arguments{"run", "resnet50_dgx2", "--json"};
  for (std::string& each : set) {
    arguments.emplace_back("--set");
    arguments.push_back(std::move(each));
  }
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

std::string error_of(std::vector<std::string> set) {
  std::vector<std::string> arguments{"run", "resnet50_dgx2"};
  for (std::string& each : set) {
    arguments.emplace_back("--set");
    arguments.push_back(std::move(each));
  }
  const Ended ended = run_program(arguments);
  CHECK(ended.code == 3);
  return ended.err;
}

}  // namespace

TEST_CASE("steps that vary make a synchronous update as slow as its slowest rank") {
  const Json steady = run_json({"random.gpus=none"});
  const Json varying = run_json({"random.gpus=none", "random.step.kind=log_normal", "random.step.sd=0.05"});
  // the largest of 16 is about 1.77 standard deviations above the mean
  const double compute = steady["compute_time_s"];
  const double slower = varying["step_time_s"].get<double>() - steady["step_time_s"].get<double>();
  CHECK(slower > 1.5 * 0.05 * compute);
  CHECK(slower < 2.1 * 0.05 * compute);
  CHECK(varying["update_time_low_s"] <= varying["step_time_s"]);
  CHECK(varying["update_time_high_s"] >= varying["step_time_s"]);
  CHECK(varying["staleness_mean"] == 1.0);
  CHECK(varying["repeats"] == 5);
  CHECK(varying["update_time_confidence"] == doctest::Approx(0.9375));
  CHECK(varying["lower_bound_s"].is_null());
  CHECK(steady["updates_per_s"].is_null());
}

TEST_CASE("one seed, one answer; another seed, another") {
  const std::vector<std::string> random{"random.step.kind=gamma", "random.step.shape=10"};
  const Json one = run_json(random);
  CHECK(run_json(random)["step_time_s"] == one["step_time_s"]);
  std::vector<std::string> reseeded = random;
  reseeded.emplace_back("random.seed=2");
  CHECK(run_json(reseeded)["step_time_s"] != one["step_time_s"]);
}

TEST_CASE("asynchronous ranks on servers update one by one with old gradients") {
  const Json async = run_json({"sync.kind=parameter_server", "sync.update=async", "sync.shards=2",
                               "stack=tf_parameter_server", "steps.warmup=5", "steps.measured=20"});
  CHECK(async["updates_measured"] == 20 * 16);
  CHECK(async["gradients_per_update"] == 1.0);
  CHECK(async["staleness_mean"].get<double>() == doctest::Approx(16).epsilon(0.05));
  CHECK(async["throughput_samples_per_s"].get<double>() ==
        doctest::Approx(async["updates_per_s"].get<double>() * async["batch_per_gpu"].get<double>()));
  CHECK(async["scaling_efficiency"] <= 1.0);
}

TEST_CASE("a node that adds up its GPUs' gradients is one worker") {
  const std::vector<std::string> set{
      "sync.kind=parameter_server", "sync.update=async", "sync.shards=2",    "nodes=2",
      "stack=mxnet_kvstore",        "steps.warmup=5",    "steps.measured=20"};
  std::vector<std::string> even = set;
  even.emplace_back("gpus_per_node=4");
  const Json async = run_json(even);
  CHECK(async["ranks"] == 8);
  CHECK(async["updates_measured"] == 20 * 2);
  CHECK(async["staleness_mean"].get<double>() == doctest::Approx(2).epsilon(0.05));
  CHECK(async["throughput_samples_per_s"].get<double>() ==
        doctest::Approx(async["updates_per_s"].get<double>() * async["batch_per_gpu"].get<double>() * 4));
  CHECK(async["scaling_efficiency"] <= 1.0);
  std::vector<std::string> uneven = set;
  uneven.emplace_back("gpus=20");
  CHECK(error_of(uneven).find("not all nodes have 16 GPUs") != std::string::npos);
}

TEST_CASE("backups let an update go on without the slowest, and cost what they throw away") {
  const std::vector<std::string> random{"sync.kind=parameter_server", "sync.placement=free",
                                        "random.step.kind=exponential"};
  const Json all = run_json(random);
  std::vector<std::string> with_backups = random;
  with_backups.emplace_back("sync.backups=2");
  const Json backed = run_json(with_backups);
  // of 16 exponential times the largest is on average H(16), the 14th H(16) - H(2)
  const double ratio = backed["step_time_s"].get<double>() / all["step_time_s"].get<double>();
  CHECK(ratio == doctest::Approx((3.380729 - 1.5) / 3.380729).epsilon(0.1));
  CHECK(all["wasted_compute_s"] == 0.0);
  CHECK(backed["wasted_compute_s"].get<double>() > 0);
  CHECK(backed["global_batch"].get<double>() / all["global_batch"].get<double>() == 14.0 / 16);
}

TEST_CASE(
    "servers on nodes of their own take nodes; fewer messages take about as long as one for each tensor") {
  const std::vector<std::string> set{"sync.kind=parameter_server",
                                     "sync.placement=own_nodes",
                                     "sync.shards=2",
                                     "gpus=4",
                                     "steps.warmup=1",
                                     "steps.measured=3",
                                     "stack=tf_parameter_server",
                                     "sync.update=async"};
  const Json joined = run_json(set);
  CHECK(joined["nodes"] == 3);
  CHECK(joined["ranks"] == 4);
  std::vector<std::string> one_by_one = set;
  one_by_one.emplace_back("fidelity=rounds");
  CHECK(joined["step_time_s"].get<double>() ==
        doctest::Approx(run_json(one_by_one)["step_time_s"].get<double>()).epsilon(0.02));
}

TEST_CASE("tensors joined to few messages take about as long where nodes add up their gradients") {
  const std::vector<std::string> set{"platform=p3_16xlarge",
                                     "nodes=4",
                                     "gpus=32",
                                     "batch_per_gpu=32",
                                     "model=vgg16",
                                     "stack=mxnet_kvstore",
                                     "sync.kind=parameter_server",
                                     "sync.shards=4",
                                     "steps.warmup=1",
                                     "steps.measured=4"};
  std::vector<std::string> one_by_one = set;
  one_by_one.emplace_back("fidelity=rounds");
  CHECK(run_json(set)["step_time_s"].get<double>() ==
        doctest::Approx(run_json(one_by_one)["step_time_s"].get<double>()).epsilon(0.05));
}

TEST_CASE("--out of such a run holds what each rank did and how old gradients were") {
  const Scratch folder;
  const std::string out = folder / "out";
  const Ended ended =
      run_program({"run", "resnet50_dgx2", "--set", "sync.kind=parameter_server", "--set", "steps.measured=4",
                   "--fidelity", "rounds", "--set", "steps.warmup=1", "--out", out});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const std::string workers = content(folder / "out/workers.csv");
  CHECK(workers.starts_with(
      "rank,node,computing_s,wasted_s,communicating_s,waiting_s,loading_s,gradients\n0,0,"));
  CHECK(std::count(workers.begin(), workers.end(), '\n') == 17);
  const std::string resolved = content(folder / "out/experiment.resolved.yaml");
  CHECK(contains(resolved, "fidelity: rounds"));
  CHECK(contains(content(folder / "out/summary.json"), "\"fidelity\": \"rounds\""));
  CHECK(content(folder / "out/staleness.csv") == "staleness_updates,gradients\n1,64\n");
  CHECK(std::filesystem::exists(folder / "out/servers.csv"));
  const Json trace = Json::parse(content(folder / "out/trace.json"));
  std::set<std::string> activities;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") activities.insert(event["name"]);
  }
  CHECK(activities == std::set<std::string>{"communicating", "computing", "waiting"});
}

TEST_CASE("how busy servers were stands in a file of its own") {
  const Scratch folder;
  REQUIRE(run_program({"run", "inception_v3_dgx1_p100_server", "--out", folder / "out"}).code == 0);
  const std::string servers = content(folder / "out/servers.csv");
  CHECK(servers.starts_with("server,utilization\n"));
  CHECK(contains(servers, "\nmemory of node0.cpu0,0."));
  CHECK(contains(servers, "\ncores of node0.cpu1,0."));
}

TEST_CASE("keys that a rule lacks or does not know are errors at their places") {
  CHECK(error_of({"sync.kind=parameter_server", "sync.update=k_sync"}).find("'k_sync' needs 'k'") !=
        std::string::npos);
  CHECK(error_of({"sync.k=3"}).find("(in sync.k)") != std::string::npos);
  CHECK(error_of({"sync.update=async"}).find("(in sync.update)") != std::string::npos);
  CHECK(has(error_of({"sync.backups=1"}), "(in sync.backups)"));
  CHECK(error_of({"sync.kind=parameter_server", "sync.update=k_sync", "sync.k=17"}).find("1 to 16") !=
        std::string::npos);
  CHECK(error_of({"sync.kind=parameter_server", "sync.backups=20"}).find("leave none to wait for") !=
        std::string::npos);
  CHECK(error_of({"random.slow=[{node: 9, factor: 2}]"}).find("nodes 0 to 0") != std::string::npos);
  CHECK(error_of({"sync.shards=2"}).find("(in sync.shards)") != std::string::npos);
  CHECK(error_of({"sync.kind=parameter_server", "fidelity=closed"}).find("cannot simulate servers") !=
        std::string::npos);
}
