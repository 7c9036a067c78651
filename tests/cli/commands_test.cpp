// The other commands from the outside: trace, model, topology, collective, check, schema.

#include "process.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("a trace that is exported and replayed gives the same step time to the bit") {
  const Scratch scratch;
  REQUIRE(run_program({"trace", "resnet50_dgx2", "-o", scratch / "t.csv", "--set", "gpus=4"}).code == 0);
  const std::string replay = scratch.put(
      "replay.yaml", "platform: dgx2\ngpus: 4\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\n");
  const Ended first = run_program({"run", "resnet50_dgx2", "--set", "gpus=4", "--json"});
  const Ended second = run_program({"run", replay, "--json"});
  CAPTURE(second.err);
  REQUIRE(first.code == 0);
  REQUIRE(second.code == 0);
  CHECK(Json::parse(first.out)["step_time_s"] == Json::parse(second.out)["step_time_s"]);
}

TEST_CASE("a trace without durations is timed again when replayed") {
  const Scratch scratch;
  REQUIRE(run_program({"trace", "resnet50_dgx2", "-o", scratch / "t.csv", "--without-durations"}).code == 0);
  const std::string replay =
      scratch.put("replay.yaml", "platform: dgx2\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\n");
  const Ended first = run_program({"run", "resnet50_dgx2", "--json"});
  const Ended second = run_program({"run", replay, "--json"});
  CAPTURE(second.err);
  REQUIRE(second.code == 0);
  CHECK(Json::parse(first.out)["step_time_s"] == Json::parse(second.out)["step_time_s"]);
}

TEST_CASE("a trace file is not overwritten without --force, and goes to a device as it is") {
  const Scratch scratch;
  const std::string file = scratch.put("t.csv", "mine");
  CHECK(run_program({"trace", "resnet50_dgx2", "-o", file}).code == 5);
  CHECK(content(file) == "mine");
  CHECK(run_program({"trace", "resnet50_dgx2", "-o", file, "--force"}).code == 0);
  CHECK(content(file).size() > 1000);
  const Ended full = run_program({"trace", "resnet50_dgx2", "-o", "/dev/full"});
  CHECK(full.code == 5);
  CHECK(contains(full.err, "cannot write '/dev/full': No space left on device"));
  CHECK(scratch.names() == std::set<std::string>{"t.csv"});
}

TEST_CASE("the model's table ends with the published totals") {
  const Ended ended = run_program({"model", "resnet50", "--batch", "128"});
  CHECK(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(contains(ended.out, "25,557,032"));
}

TEST_CASE("the topology prints for people and for Graphviz") {
  const Ended report = run_program({"topology", "dgx2"});
  CHECK(report.code == 0);
  CHECK(contains(report.out, "NV6"));
  const Ended dot = run_program({"topology", "dgx2", "--dot"});
  CHECK(dot.code == 0);
  CHECK(contains(dot.out, "graph"));
  CHECK(dot.out.find('{') != std::string::npos);
}

TEST_CASE(
    "the groups of an experiment's layout are printed with their links; without a layout there are none") {
  const Ended groups =
      run_program({"topology", "gpt3_175b_dgx_a100", "--groups", "--set", "parallelism.tensor=4"});
  CHECK(groups.code == 0);
  CHECK(contains(groups.out, "inside a socket"));
  CHECK(contains(groups.out, "nvlink3"));
  CHECK(run_program({"topology", "resnet50_dgx2", "--groups"}).code == 3);
  const Ended traces = run_program({"topology", "gpipe_traces_dgx2", "--groups"});
  CHECK(traces.code == 3);
  CHECK(contains(traces.err, "not of traces"));
  CHECK(run_program({"topology", "dgx2", "--set", "nodes=1"}).code == 2);
  CHECK(run_program({"topology", "gpt3_175b_dgx_a100", "--groups", "--dot"}).code == 2);
}

TEST_CASE("the collective's table has nccl-tests' columns and sizes") {
  Installation wide;
  wide.columns = "160";
  const Ended ended = Process({"collective", "all_reduce", "--platform", "dgx2", "--gpus", "12", "-b", "1M",
                               "-e", "1G", "-f", "2"},
                              {}, wide)
                          .wait();
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  std::istringstream lines(ended.out);
  int rows = 0;
  double size = 1048576, last_busbw = 0;
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    if (line.starts_with('#')) continue;
    std::istringstream row(line);
    double bytes = 0, count = 0, time = 0, algbw = 0, busbw = 0, bound = 0, share = 0;
    std::string type, redop;
    int root = 0;
    row >> bytes >> count >> type >> redop >> root >> time >> algbw >> busbw >> bound >> share;
    REQUIRE_FALSE(row.fail());
    CHECK(bytes == size);
    CHECK(count == size / 4);
    CHECK(time >= bound);
    CHECK(share <= 100);
    size *= 2;
    last_busbw = busbw;
    ++rows;
  }
  CHECK(rows == 11);
  CHECK(last.starts_with("# Avg bus bandwidth    : "));
  CHECK(last_busbw == doctest::Approx(123.14).epsilon(0.04));  // measured on a DGX-2: data/nccl
}

TEST_CASE("the collective's JSON has the same rows") {
  const Ended ended = run_program({"collective", "all_reduce", "--platform", "dgx2", "--gpus", "4", "-b",
                                   "1K", "-e", "1M", "-f", "4", "--json"});
  REQUIRE(ended.code == 0);
  const Json json = Json::parse(ended.out);
  CHECK(json["ranks"] == 4);
  CHECK(json["rows"].size() == 6);
  CHECK(json["rows"][0]["size_bytes"] == 1024);
}

TEST_CASE("-i adds to the size instead of multiplying it") {
  const Ended ended = run_program({"collective", "all_reduce", "--platform", "dgx2", "--gpus", "2", "-b",
                                   "1M", "-e", "4M", "-i", "1M", "--json"});
  REQUIRE(ended.code == 0);
  std::vector<double> sizes;
  const Json json = Json::parse(ended.out);
  for (const Json& row : json["rows"]) sizes.push_back(row["size_bytes"]);
  CHECK(sizes == std::vector<double>{1 << 20, 2 << 20, 3 << 20, 4 << 20});
}

TEST_CASE("the shipped files pass the check") {
  std::vector<std::string> arguments{"check"};
  std::string expected;
  for (const char* folder :
       {"platforms", "platforms/gpus", "workloads/models", "workloads/stacks", "workloads/experiments"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(TRAINYARD_SOURCE_DIR) + "/" + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      arguments.push_back(entry.path().string());
      expected += entry.path().string() + ": ok\n";
    }
  }
  REQUIRE(arguments.size() > 5);
  const Ended ended = run_program(arguments);
  CHECK(ended.code == 0);
  CHECK(ended.out == expected);
}

TEST_CASE("check prints every error of every file and goes on") {
  const Scratch scratch;
  const std::string first = scratch.put("first.yaml", experiment_with("nodse: 2\nprecision: fp23\n"));
  const std::string good = scratch.put("good.yaml", experiment_with(""));
  const std::string stack = scratch.put("stack.yaml", "name: stack\nbucket_cap: 25\nbucket_first: -1 MiB\n");
  const Ended ended = run_program({"check", first, good, stack});
  CHECK(ended.code == 3);
  CHECK(ended.out == good + ": ok\n");
  CHECK(contains(ended.err, first + ":5:1: error: "));
  CHECK(contains(ended.err, first + ":6:12: error: "));
  CHECK(contains(ended.err, stack + ":2:13: error: "));
  CHECK(contains(ended.err, stack + ":3:15: error: "));
}

TEST_CASE("check reads an experiment with what it names") {
  const Scratch scratch;
  const std::string file =
      scratch.put("e.yaml", "platform: dxg2\nmodel: resnet50\nstack: pytorch_ddp\nbatch_per_gpu: 32\n");
  const Ended ended = run_program({"check", file});
  CHECK(ended.code == 3);
  CHECK(contains(ended.err, "did you mean 'dgx2'?"));
}

TEST_CASE("check knows traces, and says so when a file is nothing it knows") {
  const Scratch scratch;
  const std::string trace = scratch.put("t.csv", "phase,layer,duration_s\nforward,a,1 ms\nbckward,b,2 ms\n");
  const Ended bad = run_program({"check", trace});
  CHECK(bad.code == 3);
  CHECK(contains(bad.err, trace + ":3:1: error: "));
  const Ended nothing = run_program({"check", scratch.put("x.yaml", "colour: red\n")});
  CHECK(nothing.code == 3);
  CHECK(contains(nothing.err, "x.yaml: error: "));
}

TEST_CASE("every kind of file has a JSON Schema") {
  for (const char* kind : {"platform", "gpu", "model", "stack", "experiment"}) {
    CAPTURE(kind);
    const Ended ended = run_program({"schema", kind});
    REQUIRE(ended.code == 0);
    const Json schema = Json::parse(ended.out);
    CHECK(schema["type"] == "object");
    CHECK(schema["additionalProperties"] == false);
    CHECK(schema["properties"].size() >= 3);
  }
}

TEST_CASE("memory prints its table and ends with 0 where the step fits and 4 where it does not") {
  const Ended fits = run_program({"memory", "resnet50_dgx2"});
  CHECK(fits.code == 0);
  CHECK(fits.err.empty());
  CHECK(contains(fits.out, "activations"));
  CHECK(contains(fits.out, "batch_per_gpu 128 fits"));

  const Ended large = run_program({"memory", "resnet50_dgx2", "--set", "batch_per_gpu=4096", "--json"});
  CHECK(large.code == 4);
  CHECK(contains(large.err, "batch_per_gpu 4096 does not fit into v100_sxm3_32gb"));
  const Json json = Json::parse(large.out);
  CHECK(json["fits"] == false);
  double sum = 0;
  for (const Json& bytes : json["memory"]) sum += bytes.get<double>();
  CHECK(sum == doctest::Approx(json["memory_peak_bytes"].get<double>()).epsilon(1e-11));

  const Scratch scratch;
  const Ended run =
      run_program({"run", "resnet50_dgx2", "--set", "batch_per_gpu=4096", "--out", scratch / "o"});
  CHECK(run.code == 4);
  CHECK(run.out.empty());
  CHECK(run.err == large.err);
  CHECK(scratch.names().empty());
}

TEST_CASE("memory of a trace that does not state it is an error with the line to write") {
  const Scratch scratch;
  std::ignore = scratch.put("t.csv", "phase,layer,duration_s\nforward,a,0.1\n");
  const std::string file =
      scratch.put("e.yaml", "platform: dgx2\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 8\n");
  const Ended ended = run_program({"memory", file});
  CHECK(ended.code == 3);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "# memory_bytes: "));
  std::ignore = scratch.put("t.csv", "# memory_bytes: 20000000000\nphase,layer,duration_s\nforward,a,0.1\n");
  CHECK(run_program({"memory", file}).code == 0);
  CHECK(run_program({"memory", file, "--set", "platform.node.gpus.profile=t4"}).code == 4);
}

TEST_CASE("list prints what is shipped, by kind or all of it") {
  const Ended models = run_program({"list", "models"});
  CHECK(models.code == 0);
  CHECK(models.err.empty());
  CHECK(contains(models.out, "resnet50"));
  CHECK(contains(models.out, "ResNet-50 v1.5\n"));
  CHECK_FALSE(contains(models.out, "dgx2"));

  const Ended experiments = run_program({"list", "experiments"});
  CHECK(contains(experiments.out, "resnet50 on 1 x dgx2, pytorch_ddp, fp32\n"));

  const Ended all = run_program({"list"});
  CHECK(all.code == 0);
  std::size_t last = 0;
  for (const char* heading :
       {"platforms\n  ", "\ngpus\n  ", "\nmodels\n  ", "\nstacks\n  ", "\nexperiments\n  "}) {
    const std::size_t at = all.out.find(heading);
    CAPTURE(heading);
    REQUIRE(at != std::string::npos);
    CHECK(at >= last);
    last = at;
  }

  const Ended unknown = run_program({"list", "modles"});
  CHECK(unknown.code == 3);
  CHECK(unknown.out.empty());
  CHECK(contains(unknown.err, "did you mean 'models'?"));
  CHECK(run_program({"list", "models", "resnet50", "stacks"}).code == 2);
}
