// Jobs in which something fails, as users start them.

#include "process.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

std::vector<std::string> arguments_of(const std::vector<std::string>& set) {
  std::vector<std::string> arguments{"run", "resnet50_dgx2"};
  for (const std::string& each : set) {
    arguments.emplace_back("--set");
    arguments.push_back(each);
  }
  return arguments;
}

Json faults_of(const std::vector<std::string>& set) {
  std::vector<std::string> arguments = arguments_of(set);
  arguments.emplace_back("--json");
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  Json json = Json::parse(ended.out);
  CHECK(json["goodput_samples_per_s"].get<double>() ==
        doctest::Approx(json["throughput_samples_per_s"].get<double>() *
                        json["faults"]["goodput_share"].get<double>()));
  return json["faults"];
}

Ended failed(const std::vector<std::string>& set) { return run_program(arguments_of(set)); }

const std::vector<std::string> month{"faults.work=30 d", "faults.restart=10 min",
                                     "faults.checkpoint.bandwidth=100 MB/s",
                                     "faults.rates=[{of: rank, every: 2000 h}]"};

std::vector<std::string> with(std::vector<std::string> set, const std::vector<std::string>& more) {
  set.insert(set.end(), more.begin(), more.end());
  return set;
}

}  // namespace

TEST_CASE("a synchronous job restarts from its last checkpoint, Daly's interval apart") {
  const Json faults = faults_of(month);
  CHECK(faults["time_between_stops_s"] == doctest::Approx(2000 * 3600 / 16.0));
  CHECK(faults["checkpoint_bytes"] == doctest::Approx(25557032 * 8.0));  // weights and momentum
  CHECK(faults["checkpoint_interval_s"] == faults["daly_interval_s"]);
  CHECK(faults["faults"] == faults["restarts"]);
  CHECK(faults["lost_s"] > 0.0);
  CHECK(faults["goodput_share"] < 1.0);
  CHECK(faults["goodput_share_low"] <= faults["goodput_share"]);
  // The curve is flat: the best interval differs more from Daly's than its goodput does.
  const double best = faults["best_goodput_share"];
  CHECK(best >= faults["goodput_share"].get<double>());
  CHECK(best < 1.001 * faults["goodput_share"].get<double>());
  CHECK(faults["best_interval_s"].get<double>() / faults["daly_interval_s"].get<double>() > 0.4);
  CHECK(faults["best_interval_s"].get<double>() / faults["daly_interval_s"].get<double>() < 2.5);
}

TEST_CASE("an asynchronous job goes on without a rank, and stops when the parameters are lost") {
  const std::vector<std::string> async =
      with(month, {"sync.kind=parameter_server", "sync.update=async", "sync.placement=free"});
  const Json without_ranks = faults_of(with(async, {"faults.checkpoint.every=1 h"}));
  CHECK(without_ranks["restarts"] == 0.0);
  CHECK(without_ranks["lost_s"] == 0.0);
  CHECK(without_ranks["time_between_stops_s"].is_null());
  // a sixteenth of the pace for ten minutes each
  CHECK(without_ranks["slowed_s"].get<double>() ==
        doctest::Approx(without_ranks["faults"].get<double>() * 600 / 16).epsilon(0.03));
  const Json without_server = faults_of(with(async, {"faults.rates=[{of: server, every: 100 h}]"}));
  CHECK(without_server["restarts"] > 0.0);
  CHECK(without_server["lost_s"] > 0.0);
}

TEST_CASE("where a node is one worker, one of its GPUs takes the whole node along") {
  // 2 nodes that push once each: half the pace for ten minutes
  const Json faults = faults_of({"nodes=2", "stack=mxnet_kvstore", "sync.kind=parameter_server",
                                 "sync.update=async", "sync.placement=free", "faults.work=10 h",
                                 "faults.restart=10 min", "faults.dates=[{of: rank, number: 20, at: 4 h}]"});
  CHECK(faults["restarts"] == 0.0);
  CHECK(faults["slowed_s"].get<double>() == doctest::Approx(300).epsilon(0.01));
}

TEST_CASE("a rank that ssp waits for holds the others up, and nothing is lost") {
  const Json faults = faults_of({"sync.kind=parameter_server", "sync.update=ssp", "sync.bound=3",
                                 "sync.placement=free", "faults.work=10 h", "faults.restart=10 min",
                                 "faults.dates=[{of: rank, number: 2, at: 4 h}]"});
  CHECK(faults["restarts"] == 0.0);
  CHECK(faults["slowed_s"] == doctest::Approx(600));
}

TEST_CASE("a fault on a date costs what can be counted") {
  const Json faults = faults_of({"faults.work=10 h", "faults.restart=30 min",
                                 "faults.dates=[{of: node, at: 4 h}]", "faults.checkpoint.every=3 h",
                                 "faults.checkpoint.size=36 GB", "faults.checkpoint.bandwidth=10 MB/s"});
  // 3 h of work, 1 h to write it, just in time: nothing is lost. 3 more, 1, 3, 1, the last hour
  CHECK(faults["restarts"] == 1.0);
  CHECK(faults["lost_s"] == 0.0);
  CHECK(faults["writing_s"] == doctest::Approx(3 * 3600));
  CHECK(faults["wall_s"] == doctest::Approx(13.5 * 3600));
  CHECK(faults["runs"] == 1);
  CHECK(faults["daly_interval_s"].is_null());
}

TEST_CASE("a date after the end of the job is said to be one") {
  const Ended ended = run_program(
      arguments_of({"faults.work=10 h", "faults.restart=1 h", "faults.dates=[{of: node, at: 11 h}]"}));
  CHECK(ended.out.find("faults: 1 date after the end of the job") != std::string::npos);
}

TEST_CASE("--out holds the checkpoint intervals that were tried") {
  const Scratch scratch;
  std::vector<std::string> arguments = arguments_of(month);
  arguments.insert(arguments.end(), {"--out", scratch / "out"});
  REQUIRE(run_program(arguments).code == 0);
  const std::string csv = content(scratch / "out/checkpoints.csv");
  CHECK(csv.starts_with("interval_s,wall_s,goodput_share,wall_closed_form_s\n"));
  CHECK(std::ranges::count(csv, '\n') == 26);
}

TEST_CASE("faults of what the job does not have are errors, and so is a job that never gets done") {
  const std::vector<std::string> job{"faults.work=1 d", "faults.restart=1 h"};
  const Ended no_server = failed(with(job, {"faults.rates=[{of: server, every: 1 h}]"}));
  CHECK(no_server.code == 3);
  CHECK(no_server.err.find("faults of kind 'server'") != std::string::npos);
  const Ended no_link = failed(with(job, {"faults.rates=[{of: link, every: 1 h}]"}));
  CHECK(no_link.code == 3);
  const Ended far = failed(with(job, {"faults.dates=[{of: rank, number: 16, at: 1 h}]"}));
  CHECK(far.code == 3);
  CHECK(far.err.find("rank 16 does not exist") != std::string::npos);
  const Ended former = failed(with(job, {"faults.dates=[{of: worker, number: 16, at: 1 h}]"}));
  CHECK(former.err == far.err);
  const Ended nothing = failed(job);
  CHECK(nothing.code == 3);
  CHECK(nothing.err.find("(in faults)") != std::string::npos);
  const Ended unknown_interval =
      failed(with(job, {"faults.dates=[{of: node, at: 1 h}]", "faults.checkpoint.bandwidth=1 GB/s"}));
  CHECK(unknown_interval.code == 3);
  const Ended never = failed(with(job, {"faults.rates=[{of: node, every: 1 h}]"}));
  CHECK(never.code == 4);
  CHECK(never.err.find("does not finish") != std::string::npos);
  // so many that counting them all would take hours
  CHECK(failed(with(job, {"faults.work=30 d", "faults.rates=[{of: rank, every: 1 s}]"})).code == 4);
}

TEST_CASE(
    "54 days of Llama 3 405B on 16,384 GPUs keep what was published, and each part of the loss is named") {
  const Ended ended = run_program({"run", "llama31_405b_llama3_cluster_faults", "--json"});
  REQUIRE(ended.code == 0);
  const Json json = Json::parse(ended.out);
  const Json& faults = json["faults"];
  CHECK(faults["goodput_share"] > 0.90);  // "higher than 90 %", Llama 3 paper, section 3.3.4
  CHECK(faults["goodput_share"] < 0.93);
  CHECK(faults["wall_s"].get<double>() / 86400 == doctest::Approx(54).epsilon(0.03));
  CHECK(faults["faults"].get<double>() == doctest::Approx(466).epsilon(0.05));  // 419 and 47
  CHECK(faults["checkpoint_bytes"].get<double>() == doctest::Approx(12 * 405.9e9).epsilon(0.001));
  CHECK(faults["checkpoint_write_s"].get<double>() ==
        doctest::Approx(faults["checkpoint_bytes"].get<double>() / 2e12));  // its storage's 2 TB/s
  const double parts = faults["work_s"].get<double>() + faults["lost_s"].get<double>() +
                       faults["writing_s"].get<double>() + faults["restarting_s"].get<double>();
  CHECK(faults["wall_s"].get<double>() == doctest::Approx(parts));
  CHECK(faults["waiting_s"] == 0.0);
  CHECK(faults["slowest_gpu_share"] > 0.0);
}

namespace {

Json layout_faults(const std::vector<std::string>& set) {
  std::vector<std::string> arguments{"run", "gpt3_175b_dgx_a100", "--json"};
  for (const std::string& each : set) arguments.insert(arguments.end(), {"--set", each});
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out)["faults"];
}

}  // namespace

TEST_CASE("an elastic job of a shared model goes on without the replicas of a node") {
  const std::vector<std::string> job{"faults.work=10 h", "faults.restart=10 min", "faults.repair=4 h",
                                     "faults.dates=[{of: rank, number: 9, at: 1 h}]"};
  // without checkpoints an hour is lost; a node holds a stage of one of 16 replicas
  const Json waits = layout_faults(job);
  CHECK(waits["waiting_s"] == doctest::Approx(4 * 3600));
  CHECK(waits["wall_s"] == doctest::Approx(15 * 3600 + 600));
  const Json elastic = layout_faults(with(job, {"faults.elastic=true"}));
  CHECK(elastic["slowed_s"].get<double>() == doctest::Approx((4 * 3600 - 600) / 16.0));
  CHECK(elastic["restarts"] == 2.0);
  const Json spare = layout_faults(with(job, {"faults.spares=1"}));
  CHECK(spare["wall_s"] == doctest::Approx(11 * 3600 + 600));
}

TEST_CASE("each node writes its part of a checkpoint, in the background if asked to") {
  const std::vector<std::string> job{"faults.work=10 d", "faults.restart=10 min",
                                     "faults.rates=[{of: node, every: 10000 h}]",
                                     "faults.checkpoint.bandwidth=100 GB/s"};
  const Json storage = layout_faults(job);
  const double size = storage["checkpoint_bytes"];
  CHECK(storage["checkpoint_write_s"].get<double>() == doctest::Approx(size / 100e9));
  CHECK(storage["checkpoint_stall_s"] == storage["checkpoint_write_s"]);
  const Json nodes = layout_faults(with(job, {"faults.checkpoint.node_bandwidth=100 MB/s"}));  // 128 of them
  CHECK(nodes["checkpoint_write_s"].get<double>() == doctest::Approx(size / 12.8e9));
  const Json background = layout_faults(with(job, {"faults.checkpoint.asynchronous=true"}));
  CHECK(background["checkpoint_stall_s"].get<double>() < 0.1 * storage["checkpoint_stall_s"].get<double>());
  CHECK(background["goodput_share"] > storage["goodput_share"]);
  const Json memory = layout_faults(with(job, {"faults.checkpoint.in_memory.every=1 min"}));
  CHECK(memory["lost_s"].get<double>() < 0.2 * storage["lost_s"].get<double>());
}

TEST_CASE("points that differ in faults alone are those of runs of their own") {
  const std::vector<std::string> job{"faults.work=30 d", "faults.restart=10 min", "faults.repair=1 d",
                                     "faults.rates=[{of: rank, every: 20000 h}]",
                                     "faults.checkpoint.bandwidth=50 GB/s"};
  std::vector<std::string> arguments{"sweep", "gpt3_175b_dgx_a100", "--json", "--set", "faults.spares=0,1",
                                     "--set", "accumulation=96,48"};
  for (const std::string& each : job) arguments.insert(arguments.end(), {"--set", each});
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Json rows = Json::parse(ended.out)["rows"];
  REQUIRE(rows.size() == 4);
  double least = 1e9;
  double most = 0;
  for (const Json& row : rows) {
    std::vector<std::string> alone{"run", "gpt3_175b_dgx_a100", "--json"};
    for (const std::string& each : job) alone.insert(alone.end(), {"--set", each});
    for (const std::string key : {"faults.spares", "accumulation"})
      alone.insert(alone.end(), {"--set", key + "=" + row["keys"][key].get<std::string>()});
    const Json run = Json::parse(run_program(alone).out);
    CHECK(row["goodput_samples_per_s"] == run["goodput_samples_per_s"]);
    CHECK(row["step_time_s"] == run["step_time_s"]);
    least = std::min(least, row["goodput_samples_per_s"].get<double>());
    most = std::max(most, row["goodput_samples_per_s"].get<double>());
  }
  CHECK(most > 1.2 * least);
}
