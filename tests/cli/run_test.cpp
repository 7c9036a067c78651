// `trainyard run` from the outside: what it prints, what it writes, and how bad runs end.

#include "../report/trace_rules.hpp"
#include "process.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <sys/mount.h>
#include <thread>
#include <tuple>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

const std::set<std::string> out_files{
    "summary.json", "ops.csv",         "ranks.csv",   "links.csv",
    "trace.json",   "collectives.csv", "report.html", "experiment.resolved.yaml"};

}  // namespace

TEST_CASE("the shipped experiment prints its summary on stdout and nothing on stderr") {
  const Ended ended = run_program({"run", "resnet50_dgx2"});
  CHECK(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(contains(ended.out, "step time"));
  CHECK(contains(ended.out, "what limits it"));
  CHECK_FALSE(contains(ended.out, "\x1b"));  // not a terminal: no colour
}

TEST_CASE("a batch that is chosen is called one that fits only if it does") {
  const auto note = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "--platform", "dgx_h100"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words).err;
  };
  const std::string too_large = note({"--model", "llama3_8b", "--precision", "bf16"});
  CHECK(contains(too_large, "note: batch 1 per GPU; --batch sets it"));
  CHECK(contains(too_large, "does not fit"));
  CHECK(contains(note({"--model", "gpt2_small"}), "that fits; --batch sets it"));
}

TEST_CASE("--json prints one object and nothing else") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--json"});
  REQUIRE(ended.code == 0);
  const Json json = Json::parse(ended.out);
  CHECK(json["schema_version"] == 3);
  CHECK(json["ranks"] == 16);
  CHECK(json["step_time_s"].get<double>() >= json["lower_bound_s"].get<double>());
  CHECK(json["simulation"]["peak_rss_bytes"].get<double>() > 0);
  CHECK(ended.err.empty());
}

TEST_CASE("--no-usage leaves out what a simulation cost, and equal runs then write equal bytes") {
  const Scratch scratch;
  const auto run_to = [&](const std::string& command, const std::string& experiment,
                          const std::string& folder) {
    std::vector<std::string> arguments{command,  experiment, "--no-usage",
                                       "--json", "--out",    scratch / folder};
    // of many updates: one repeat simulates as all of them do
    if (experiment != "resnet50_dgx2") arguments.insert(arguments.end(), {"--set", "steps.repeats=1"});
    const Ended ended = run_program(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(ended.out == content(scratch / (folder + "/summary.json")));
    return ended.out;
  };
  for (const auto& [command, experiment] :
       {std::pair("run", "resnet50_dgx2"), std::pair("run", "resnet50_p2_16xlarge_async"),
        std::pair("learn", "digits_stragglers")}) {
    const std::string name = std::string(command) + experiment;
    const std::string first = run_to(command, experiment, name + "1");
    CHECK(first == run_to(command, experiment, name + "2"));
    const Json usage = Json::parse(first)["simulation"];
    for (const char* const field : {"wall_s", "cpu_s", "peak_rss_bytes"}) CHECK(usage[field].is_null());
    CHECK(usage["events"].is_number());
    const std::set<std::string> files = scratch.names(name + "1");
    CHECK(files == scratch.names(name + "2"));
    CHECK(files.size() > 5);
    for (const std::string& file : files) {
      CAPTURE(file);
      CHECK(content(scratch / (name + "1/" + file)) == content(scratch / (name + "2/" + file)));
    }
  }
  CHECK(run_program({"run", "resnet50_dgx2", "--no-usage"}).code == 2);
  CHECK(run_program({"learn", "digits_stragglers", "--no-usage"}).code == 2);
}

TEST_CASE("a trace from a spreadsheet, with a byte order mark and CRLF, runs") {
  const Scratch scratch;
  std::ignore = scratch.put("t.csv",
                            "\xEF\xBB\xBFphase,layer,duration_s,parameter_bytes\r\n"
                            "forward,all,0.25,\r\nbackward,all,0.5,4000000\r\n");
  const std::string experiment = scratch.put(
      "e.yaml",
      "\xEF\xBB\xBFplatform: dgx2\r\ntrace: t.csv\r\nstack: pytorch_ddp\r\nbatch_per_gpu: 8\r\ngpus: 2\r\n");
  const Ended ended = run_program({"run", experiment, "--json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(Json::parse(ended.out)["compute_time_s"] == 0.75);
}

TEST_CASE("--set changes what is simulated, in the experiment and in the files it names") {
  const auto run = [](const std::vector<std::string>& set) {
    std::vector<std::string> arguments{"run", "resnet50_dgx2", "--json"};
    for (const std::string& one : set) arguments.insert(arguments.end(), {"--set", one});
    const Ended ended = run_program(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  CHECK(run({"gpus=4", "batch_per_gpu=64"})["global_batch"] == 256);
  const double fast = run({"nodes=2"})["step_time_s"];
  const double slow = run({"nodes=2", "platform.fabric.nic=100 Mbps"})["step_time_s"];
  CHECK(slow > 2 * fast);
}

TEST_CASE("--out writes every file, and each of them reads back") {
  const Scratch scratch;
  const Ended ended = run_program({"run", "resnet50_dgx2", "--set", "gpus=4", "--out", scratch / "out"});
  REQUIRE(ended.code == 0);
  CHECK(scratch.names() == std::set<std::string>{"out"});
  CHECK(scratch.names("out") == out_files);
  const Json summary = Json::parse(content(scratch / "out/summary.json"));
  CHECK(summary["ranks"] == 4);
  CHECK(broken_trace_rules(Json::parse(content(scratch / "out/trace.json"))) == std::vector<std::string>{});
  CHECK(content(scratch / "out/ops.csv").starts_with("rank,phase,layer,"));
  CHECK(content(scratch / "out/collectives.csv").find("bucket 0,all_reduce,ring,") != std::string::npos);
  CHECK(content(scratch / "out/report.html").starts_with("<!DOCTYPE html>"));

  const Ended again = run_program({"run", scratch / "out/experiment.resolved.yaml", "--json"});
  REQUIRE(again.code == 0);
  CHECK(Json::parse(again.out)["step_time_s"] == summary["step_time_s"]);
}

TEST_CASE("--no-page leaves out the page alone, and is for --out") {
  const Scratch scratch;
  REQUIRE(run_program({"run", "resnet50_dgx2", "--gpus", "4", "--out", scratch / "out", "--no-page"}).code ==
          0);
  std::set<std::string> tables = out_files;
  tables.erase("report.html");
  CHECK(scratch.names("out") == tables);
  CHECK(run_program({"run", "resnet50_dgx2", "--no-page"}).code == 2);

  // The page of an earlier run does not stay beside the tables of this one, and is not in their way.
  REQUIRE(run_program({"run", "resnet50_dgx2", "--gpus", "4", "--out", scratch / "out", "--force"}).code ==
          0);
  REQUIRE(
      run_program({"run", "resnet50_dgx2", "--gpus", "4", "--out", scratch / "out", "--no-page", "--force"})
          .code == 0);
  CHECK(scratch.names("out") == tables);
}

TEST_CASE("every rank's trace has an arrow to each reduction of a step") {
  const Scratch scratch;
  REQUIRE(run_program({"run", "resnet50_dgx2", "--set", "gpus=2", "--out", scratch / "out"}).code == 0);
  const Json trace = Json::parse(content(scratch / "out/trace.json"));
  int collectives = 0, arrows = 0;
  for (const Json& event : trace["traceEvents"]) {
    const bool is_collective = event["ph"] == "X" && event["cat"] == "communication";
    if (is_collective && event["args"]["operation"] == "all_reduce")
      ++collectives;  // no op is before a broadcast
    if (event["ph"] == "f") ++arrows;
  }
  CHECK(collectives > 2);
  CHECK(arrows == collectives);
}

TEST_CASE("an existing result is kept without --force and replaced with it") {
  const Scratch scratch;
  const std::vector<std::string> once{"run", "resnet50_dgx2", "--set", "gpus=2", "--out", scratch / "out"};
  REQUIRE(run_program(once).code == 0);
  const std::string before = content(scratch / "out/summary.json");
  const Ended refused = run_program(once);
  CHECK(refused.code == 5);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "the folder exists and is not empty; --force replaces it"));
  CHECK(content(scratch / "out/summary.json") == before);
  const Ended forced =
      run_program({"run", "resnet50_dgx2", "--set", "gpus=4", "--out", scratch / "out", "--force"});
  CHECK(forced.code == 0);
  CHECK(Json::parse(content(scratch / "out/summary.json"))["ranks"] == 4);
  CHECK(scratch.names() == std::set<std::string>{"out"});
}

TEST_CASE("a folder that cannot be written to is an error before anything is simulated") {
  const Ended ended = run_program({"run", "resnet50_dgx2", "--out", "/proc/trainyard-out"});
  CHECK(ended.code == 5);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "cannot write '/proc/trainyard-out'"));
}

TEST_CASE("a full disk is an error that leaves nothing behind") {
  const Scratch scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0) {
    MESSAGE("not allowed to mount a small disk");
    return;
  }
  const Ended ended = run_program({"run", "resnet50_dgx2", "--out", disk + "/out"});
  const bool is_empty = std::filesystem::is_empty(disk);
  ::umount2(disk.c_str(), MNT_DETACH);
  CHECK(ended.code == 5);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "No space left on device"));
  CHECK(is_empty);
}

TEST_CASE("a result that stdout does not take is an error") {
  for (const char* more : {"--json", "--set=gpus=2"}) {
    const Ended ended = Process({"run", "resnet50_dgx2", more}, "/dev/full").wait();
    CHECK(ended.code == 5);
    CHECK(ended.err == "trainyard: error: cannot write to stdout: No space left on device\n");
  }
  CHECK(Process({"--version"}, "/dev/full").wait().code == 5);
  CHECK(Process({"run", "--help"}, "/dev/full").wait().code == 5);
}

TEST_CASE("Ctrl-C during a long simulation ends it at once and leaves nothing behind") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Scratch scratch;
    Process process(
        {"run", "resnet50_dgx2", "--set", "nodes=64", "--fidelity", "steps", "--out", scratch / "out"});
    REQUIRE(process.says_something());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // into the simulation
    process.send(signal);
    const Ended ended = process.wait();
    CHECK(ended.code == 130);
    CHECK(ended.out.empty());
    CHECK(ended.err.starts_with("note: "));
    CHECK(ended.err.ends_with("\ntrainyard: interrupted\n"));
    CHECK(scratch.names().empty());
  }
}

TEST_CASE("unknown names are wrong input with a suggestion") {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const Ended ended = run_program(arguments);
    CHECK(ended.code == 3);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(contains(error_of({"run", "resnet50_dgx"}), "did you mean 'resnet50_dgx2'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "platform=dxg2"}), "did you mean 'dgx2'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "model=resnet5"}), "did you mean 'resnet50'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "stack=pytorch_dpd"}),
                 "did you mean 'pytorch_ddp'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "bacth_per_gpu=3"}),
                 "did you mean 'batch_per_gpu'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--set", "sync.algorithm=rign"}), "did you mean 'ring'?"));
  CHECK(contains(error_of({"run", "resnet50_dgx2", "--fidelity", "mesages"}), "did you mean 'messages'?"));
  CHECK_FALSE(contains(error_of({"run", "resnet50_dgx2", "--fidelity", "step"}), "steps"));
  CHECK(contains(error_of({"topology", "dgx"}), "one of dgx_a100, dgx_b200"));
  CHECK(contains(error_of({"model", "resnet"}), "resnet50"));
  CHECK(contains(error_of({"collective", "all_redcue", "--platform", "dgx2"}), "did you mean 'all_reduce'?"));
  CHECK(contains(error_of({"collective", "all_reduce", "--platform", "dgx3"}), "did you mean 'dgx2'?"));
  CHECK(contains(error_of({"schema", "platfrom"}), "did you mean 'platform'?"));
}

TEST_CASE("more GPUs than exist is wrong input that says how many there are") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "resnet50_dgx2", "--set", "gpus=17"},
        std::vector<std::string>{"collective", "all_reduce", "--platform", "dgx2", "--gpus", "17"}}) {
    const Ended ended = run_program(arguments);
    CHECK(ended.code == 3);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "17"));
    CHECK(contains(ended.err, "16"));
  }
}

TEST_CASE("GPUs that cannot reach each other are a machine that cannot do the job") {
  const Scratch scratch;
  const std::string platform = scratch.put("split.yaml", R"(name: split
title: two GPUs that do not meet
node:
  gpus: {count: 2, profile: v100_sxm3_32gb}
  devices: {cpu: {count: 2}}
  links:
    - {between: [gpu0, cpu0], kind: pcie3, bandwidth: 15.75 GB/s, latency: 1 us}
    - {between: [gpu1, cpu1], kind: pcie3, bandwidth: 15.75 GB/s, latency: 1 us}
)");
  const Ended ended =
      run_program({"run", "resnet50_dgx2", "--set", "platform=" + platform, "--out", scratch / "out"});
  CHECK(ended.code == 4);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "trainyard: error: gpu1 of split cannot be reached from gpu0"));
  CHECK(scratch.names() == std::set<std::string>{"split.yaml"});
}

TEST_CASE("an experiment with several errors prints all of them with their places") {
  const Scratch scratch;
  const std::string file = scratch.put("bad.yaml", experiment_with("precision: fp23\nnodse: 2\ngpus: -1\n"));
  const Ended ended = run_program({"run", file, "--out", scratch / "out"});
  CHECK(ended.code == 3);
  CHECK(contains(ended.err, file + ":5:12: error: "));
  CHECK(contains(ended.err, file + ":6:1: error: "));
  CHECK(contains(ended.err, file + ":7:7: error: "));
  CHECK(contains(ended.err, "did you mean 'fp32'?"));
  CHECK(contains(ended.err, "did you mean 'nodes'?"));
  CHECK(scratch.names() == std::set<std::string>{"bad.yaml"});
}

TEST_CASE("a file that cannot be read is exit code 5 or a name that does not exist") {
  const Scratch scratch;
  CHECK(run_program({"run", scratch / "none.yaml"}).code == 3);
  CHECK(run_program({"check", scratch / "none.yaml"}).code == 5);
}

TEST_CASE(
    "--verify adds the difference from messages to the text and the JSON, which otherwise say why not") {
  const nlohmann::json with =
      nlohmann::json::parse(run_program({"run", "resnet50_ts4", "--verify", "--json"}).out);
  CHECK(with["verification"]["ranks"] == 8);
  CHECK(with["verification"]["part"].is_null());
  CHECK(with["verification"]["largest_difference"] <= 1e-9);
  CHECK(with["verification"]["limit"] == 1e-9);
  CHECK(with["step_time_s"] == with["verification"]["step_time_s"]);
  const nlohmann::json without = nlohmann::json::parse(run_program({"run", "resnet50_ts4", "--json"}).out);
  CHECK(without["verification"].is_null());
  CHECK(contains(std::string(without["unmodelled"]["verification"]), "--verify"));
  CHECK(contains(run_program({"run", "resnet50_ts4", "--verify"}).out, "verified "));
  CHECK_FALSE(contains(run_program({"run", "resnet50_ts4"}).out, "verified "));
  CHECK(contains(run_program({"run", "resnet50_p3_2xlarge", "--verify"}).out, "--verify compared nothing"));
}

TEST_CASE("--verify is for fidelity flow") {
  const Ended ended = run_program({"run", "resnet50_ts4", "--verify", "--fidelity", "rounds"});
  CHECK(ended.code == 2);
  CHECK(contains(ended.err, "rounds"));
}
