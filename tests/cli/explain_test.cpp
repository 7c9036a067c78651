// `trainyard explain` from the outside: its forms, that its what-ifs are what `run` says, and how bad ones
// end.

#include "process.hpp"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json explained(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "explain");
  arguments.emplace_back("--json");
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

double sum(const Json& rows, const std::string& field) {
  double all = 0;
  for (const Json& row : rows) all += row[field].get<double>();
  return all;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

const Json* change(const Json& explanation, const std::string& name) {
  for (const Json& row : explanation["changes"]) {
    if (row["change"] == name) return &row;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("the path and the parts of two boxes add up to the step that run prints") {
  const Json why = explained({"resnet50_p3_16xlarge_x2"});
  const Json run = Json::parse(run_program({"run", "resnet50_p3_16xlarge_x2", "--json"}).out);
  CHECK(why["step_time_s"] == run["step_time_s"]);
  CHECK(why["lower_bound_s"] == run["lower_bound_s"]);
  const double step = run["step_time_s"].get<double>();
  CHECK(is_near(sum(why["critical_path"], "length_s"), step));
  CHECK(is_near(sum(why["parts"], "time_s"), step));
  const Json* collective = nullptr;
  for (const Json& row : why["critical_path"]) {
    if (row["kind"] == "collective") collective = &row;
  }
  REQUIRE(collective != nullptr);
  CHECK((*collective)["collective"] == "bucket 4");
  CHECK((*collective)["link"] == "node0.nic0->fabric");
  CHECK((*collective)["links_as_tight"] == 4);
  // nothing else is under way then
  CHECK(is_near((*collective)["duration_alone_s"].get<double>(), (*collective)["duration_s"].get<double>()));
}

TEST_CASE("every what-if is what run prints with its --set") {
  for (const std::string experiment : {"resnet50_p3_16xlarge_x2", "resnet50_dgx2_input"}) {
    CAPTURE(experiment);
    const Json why = explained({experiment});
    int simulated = 0;
    for (const Json& row : why["changes"]) {
      CAPTURE(row.dump());
      CHECK(row["reason"].is_null() != row["throughput_samples_per_s"].is_null());
      if (!row["reason"].is_null()) continue;
      ++simulated;
      std::vector<std::string> arguments{"run", experiment, "--json"};
      for (const auto& [key, value] : row["set"].items()) {
        arguments.emplace_back("--set");
        arguments.push_back(key + "=" + value.get<std::string>());
      }
      const Json run = Json::parse(run_program(arguments).out);
      CHECK(run["step_time_s"] == row["step_time_s"]);
      CHECK(run["throughput_samples_per_s"] == row["throughput_samples_per_s"]);
      const double gain =
          run["throughput_samples_per_s"].get<double>() / why["throughput_samples_per_s"].get<double>() - 1;
      CHECK(std::abs(row["gain"].get<double>() - gain) < 1e-10);
    }
    CHECK(simulated > 10);
  }
}

TEST_CASE("what-ifs are sorted by gain, and those not tried say why") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const Json why = explained({tiny, "--set", "batch_per_gpu=300"});
  double before = 1e9;
  for (const Json& row : why["changes"]) {
    const double gain = row["gain"].is_null() ? -1 : row["gain"].get<double>();
    CHECK(gain <= before);
    before = gain;
  }
  REQUIRE(change(why, "faster NICs") != nullptr);
  CHECK((*change(why, "faster NICs"))["reason"].is_string());
  REQUIRE(change(why, "batch of 600 per GPU") != nullptr);
  CHECK(contains((*change(why, "batch of 600 per GPU"))["reason"].get<std::string>(), " GB of memory"));
  CHECK((*change(why, "GPUs twice as fast"))["gain"].get<double>() > 0.9);
  CHECK((*change(why, "GPUs twice as fast"))["gain"].get<double>() < 1 + 1e-9);
}

TEST_CASE("a faster GPU halves the kernels, twice over with its own factor set") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 1\nsoftware: ideal\n"));
  const auto gain = [&](const Json& why) {
    return (*change(why, "GPUs twice as fast"))["gain"].get<double>();
  };
  const Json once = explained({tiny});
  CHECK(is_near(gain(once), 1));
  const Json twice = explained({tiny, "--set", "gpu.speed=2"});
  CHECK(is_near(gain(twice), 1));
  CHECK((*change(twice, "GPUs twice as fast"))["set"] == Json{{"gpu.speed", "4"}});
  CHECK(is_near(2 * twice["step_time_s"].get<double>(), once["step_time_s"].get<double>()));
}

TEST_CASE("links of a node can be made faster, kind by kind") {
  const auto links = [](const std::string& key) {
    const Ended ended =
        run_program({"run", "resnet50_p3_8xlarge", "--set", "platform.node.speed." + key + "=2", "--json"});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out)["communication_time_s"].get<double>();
  };
  const Json run = Json::parse(run_program({"run", "resnet50_p3_8xlarge", "--json"}).out);
  CHECK(links("nvlink") < 0.7 * run["communication_time_s"].get<double>());
  CHECK(links("pcie") == run["communication_time_s"].get<double>());
  CHECK(run_program({"run", "resnet50_p3_8xlarge", "--set", "platform.node.speed.nvlink=0"}).code == 3);
}

TEST_CASE("more lanes make communication faster, and a note says that nobody built them") {
  const auto run = [](const std::vector<std::string>& set) {
    std::vector<std::string> words{"run",   "resnet50_p3_16xlarge_x2",      "--json", "--set", "nodes=1",
                                   "--set", "stack.broadcast_buffers=false"};  // whose copies use no link
    words.insert(words.end(), set.begin(), set.end());
    const Ended ended = run_program(words);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  const Json own = run({});
  const Json more = run({"--set", "platform.node.lanes.nvlink=4"});
  CHECK(more["communication_time_s"].get<double>() < 0.7 * own["communication_time_s"].get<double>());
  CHECK(contains(more["notes"].dump(), "(node.lanes.nvlink)"));
  CHECK_FALSE(contains(own["notes"].dump(), "node.lanes"));
}

TEST_CASE("other algorithms than the torus are tried without its grid") {
  const Scratch scratch;
  const std::string torus = scratch.put("torus.yaml",
                                        "platform: dgx2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: "
                                        "8\nsync: {algorithm: torus2d, grid: [8, 2]}\n");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{torus}, std::vector<std::string>{torus, "--set", "sync.grid=[2,8]"}}) {
    const Json why = explained(more);
    const auto* const ring = change(why, "algorithm ring");
    REQUIRE(ring != nullptr);
    CHECK((*ring)["set"] == Json{{"sync.algorithm", "ring"}, {"sync.grid", "none"}});
    CHECK((*ring)["reason"].is_null());
  }
}

TEST_CASE("a saved run is explained as its experiment, and a step time that does not come out is said") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  const std::string saved = scratch / "saved";
  REQUIRE(run_program({"run", tiny, "--out", saved}).code == 0);
  const Json of_file = explained({tiny});
  const Json of_run = explained({saved});
  CHECK(of_run["critical_path"] == of_file["critical_path"]);
  CHECK(of_run["changes"] == of_file["changes"]);
  CHECK(of_run["experiment"] == "tiny");
  CHECK(of_run["saved_step_time_s"] == of_run["step_time_s"]);
  CHECK(of_file["saved_step_time_s"].is_null());
  CHECK_FALSE(contains(run_program({"explain", saved}).out, "summary.json"));

  Json summary = Json::parse(content(saved + "/summary.json"));
  summary["step_time_s"] = 1.5;
  std::ofstream(saved + "/summary.json") << summary.dump();
  const Ended other = run_program({"explain", saved + "/summary.json"});
  CHECK(other.code == 0);
  CHECK(contains(other.out, "summary.json is 1.5"));
}

TEST_CASE("runs of many updates have no path, and say what their ranks do") {
  const Scratch scratch;
  const std::string slow = scratch.put(
      "slow.yaml", experiment_with("nodes: 2\ngpus_per_node: 2\nrandom: {slow: [{node: 1, factor: 1.5}]}\n"
                                   "steps: {measured: 10}\n"));
  const Json why = explained({slow});
  CHECK(why["critical_path"].is_null());
  CHECK(why["parts"].is_null());
  CHECK(why["lower_bound_s"].is_null());
  double parts = 0;
  for (const auto& [part, time] : why["update_parts_s"].items()) parts += time.get<double>();
  CHECK(is_near(parts, why["step_time_s"].get<double>()));
  CHECK(why["update_parts_s"]["waiting"].get<double>() > 0);
  CHECK(contains(why["in_words"]["path"].get<std::string>(), "(node 1) computes longest"));
  const Json* even = change(why, "no slow nodes");
  REQUIRE(even != nullptr);
  CHECK((*even)["gain"].get<double>() > 0.4);
}

TEST_CASE("a trace that brings some times keeps them when GPUs are faster") {
  const Scratch scratch;
  REQUIRE(run_program({"trace", "resnet50_dgx2", "-o", scratch / "all.csv", "--set", "gpus=2"}).code == 0);
  REQUIRE(run_program({"trace", "resnet50_dgx2", "-o", scratch / "none.csv", "--set", "gpus=2",
                       "--without-durations"})
              .code == 0);
  const std::string lines = "platform: dgx2\ngpus: 2\nstack: pytorch_ddp\nbatch_per_gpu: 128\n";
  const Json all = explained({scratch.put("all.yaml", lines + "trace: all.csv\n")});
  REQUIRE(change(all, "faster GPUs") != nullptr);
  CHECK((*change(all, "faster GPUs"))["reason"].is_string());
  CHECK(change(all, "GPUs twice as fast") == nullptr);
  const Json none = explained({scratch.put("none.yaml", lines + "trace: none.csv\n")});
  CHECK(contains((*change(none, "GPUs twice as fast"))["remark"].get<std::string>(), "every kernel in half"));

  // the first kernels with a time, the others without
  std::istringstream with(content(scratch / "all.csv"));
  std::istringstream without(content(scratch / "none.csv"));
  std::string some;
  std::string timed;
  std::string untimed;
  int number = 0;
  while (std::getline(with, timed) && std::getline(without, untimed))
    some += (number++ < 40 ? timed : untimed + ",") + "\n";
  const std::string mixed = scratch.put("some.csv", some);
  const Json why = explained({scratch.put("some.yaml", lines + "trace: " + mixed + "\n")});
  const Json* faster = change(why, "GPUs twice as fast");
  REQUIRE(faster != nullptr);
  CHECK(contains((*faster)["remark"].get<std::string>(), "the trace fixes the times of "));
  CHECK((*faster)["gain"].get<double>() > 0.1);
  CHECK((*faster)["gain"].get<double>() < 0.95);
}

TEST_CASE("servers are tried in more shards, and faults are left out of what a change brings") {
  const Json servers = explained({"resnet50_p2_16xlarge_async", "--set", "steps.measured=5", "--set",
                                  "steps.warmup=1", "--set", "sync.shards=2"});
  const Json* shards = change(servers, "4 parameter shards");
  REQUIRE(shards != nullptr);
  CHECK((*shards)["set"] == Json{{"sync.shards", "4"}});
  CHECK((*shards)["gain"].is_number());
  CHECK((*change(servers, "other buckets"))["reason"].is_string());

  const Json faulty = explained({"bert_large_dgx_a100_faults"});
  CHECK(contains(faulty["in_words"]["path"].get<std::string>(), "a step without faults"));
  const Json* gpus = change(faulty, "GPUs twice as fast");
  REQUIRE(gpus != nullptr);
  CHECK((*gpus)["gain"].get<double>() > 0.2);
}

TEST_CASE("links of a dragonfly are tried as a pair of keys") {
  const Scratch scratch;
  const std::string daint = scratch.put("d.yaml",
                                        "platform: piz_daint\nnodes: 4\nmodel: resnet50\nstack: pytorch_ddp\n"
                                        "batch_per_gpu: 32\n");
  const Json why = explained({daint});
  const Json* links = change(why, "dragonfly links twice as fast");
  REQUIRE(links != nullptr);
  CHECK((*links)["set"].size() == 2);
  CHECK((*links)["gain"].get<double>() > -1e-9);
  CHECK(change(why, "torus links of 100 Gbps") == nullptr);
}

TEST_CASE("buckets change with a first one that is larger, and values have no digits of rounding") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 4\nprecision: fp32\n"));
  const Json why =
      explained({tiny, "--set", "stack.bucket_first=80 MiB", "--set", "stack.bucket_cap=40 MiB"});
  const Json* smaller = change(why, "buckets of 20 MiB");
  REQUIRE(smaller != nullptr);
  CHECK((*smaller)["set"] == Json{{"stack.bucket_cap", "20 MiB"}, {"stack.bucket_first", "40 MiB"}});
  CHECK((*smaller)["gain"] != 0.0);
  for (const Json& row : why["changes"]) {
    if (row["set"].size() < 2) continue;
    // a pair beats each of its parts
    for (const Json& other : why["changes"]) {
      if (other["set"].size() != 1 || other["gain"].is_null()) continue;
      const auto only = other["set"].begin();
      if (row["set"].value(only.key(), "") == only.value().get<std::string>())
        CHECK(row["gain"].get<double>() > other["gain"].get<double>());
    }
  }
  const Json odd = explained({"resnet50_p3_16xlarge_x2", "--set", "platform.fabric.nic=3.3 GB/s"});
  CHECK(change(odd, "NICs of 52.8 Gbps") != nullptr);
}

TEST_CASE("a machine that nobody built is called so, and its factors have an end") {
  const Json fast =
      explained({"resnet50_p3_8xlarge", "--set", "gpu.speed=60", "--set", "platform.node.speed.nvlink=2"});
  CHECK((*change(fast, "GPUs twice as fast"))["reason"] == "gpu.speed is 60; its maximum is 100");
  CHECK(contains(fast["notes"].dump(), "every kernel is 60 times as fast as on "));
  CHECK(contains(fast["notes"].dump(), "(node.speed.nvlink)"));
  CHECK_FALSE(contains(explained({"resnet50_p3_8xlarge"})["notes"].dump(), "what-if"));
  const Json staged =
      explained({"resnet50_dgx2", "--set", "platform=workstation_3090", "--set", "batch_per_gpu=16"});
  CHECK(contains((*change(staged, "PCIe links twice as fast"))["remark"].get<std::string>(),
                 "one connection through host memory still reaches "));
}

TEST_CASE("explanations do not hang on how many processes simulate") {
  const std::string one = run_program({"explain", "resnet50_dlperf", "-j", "1"}).out;
  CHECK(one == run_program({"explain", "resnet50_dlperf", "-j", "7"}).out);
  CHECK(contains(one, "\ncritical path "));
  CHECK(contains(one, "\nLargest gains: "));
}

TEST_CASE("explanations that cannot be made end with the code of what is wrong") {
  const Scratch scratch;
  const std::string tiny = scratch.put("tiny.yaml", experiment_with("gpus: 2\n"));
  std::filesystem::create_directory(scratch.path() / "empty");
  std::filesystem::create_directory(scratch.path() / "half");
  REQUIRE(run_program({"run", tiny, "--out", scratch / "saved"}).code == 0);
  std::filesystem::copy(scratch / "saved/summary.json", scratch / "half/summary.json");
  const auto ended = [](std::vector<std::string> arguments, int code, const std::string& message) {
    arguments.insert(arguments.begin(), "explain");
    check_refused(arguments, code, message);
  };
  ended({}, 2, "RUN is required");
  ended({tiny, "-j", "0"}, 2, "-j");
  ended({scratch / "saved", "--set", "gpus=1"}, 2, "is a saved run");
  ended({tiny, "--set", "gqus=4"}, 3, "did you mean");
  ended({"resnet50_dgx3"}, 3, "did you mean");
  ended({tiny, "--set", "batch_per_gpu=4096"}, 4, "does not fit");
  ended({scratch / "empty"}, 5, "has no summary.json");
  ended({scratch / "half"}, 5, "experiment.resolved.yaml");
}
