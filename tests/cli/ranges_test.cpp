// `trainyard run` with keys that are ranges: the results at their ends, and what is refused.

#include "process.hpp"

#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

std::vector<std::string> arguments(const std::vector<std::string>& set,
                                   const std::vector<std::string>& more = {"--json"}) {
  std::vector<std::string> all{"run", "resnet50_dgx2"};
  for (const std::string& one : set) all.insert(all.end(), {"--set", one});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Json run_with(const std::vector<std::string>& set, const std::vector<std::string>& more = {"--json"}) {
  const Ended ended = run_program(arguments(set, more));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  return Json::parse(ended.out);
}

void check_end(const Json& input, const std::string& end, const Json& run) {
  CHECK(input["step_time_at_" + end + "_s"] == run["step_time_s"]);
  CHECK(input["throughput_at_" + end + "_samples_per_s"] == run["throughput_samples_per_s"]);
}

}  // namespace

TEST_CASE("the results at the ends of a range are those of separate runs, to the last digit") {
  const std::vector<std::string> job{"nodes=2", "platform.fabric.per_flow=none"};
  const auto with = [&](const std::string& set) {
    std::vector<std::string> all = job;
    all.push_back(set);
    return all;
  };
  const Json low = run_with(with("platform.fabric.nic=2 Gbps"));
  const Json high = run_with(with("platform.fabric.nic=20 Gbps"));
  const Json both = run_with(with("platform.fabric.nic=2..20 Gbps"));
  REQUIRE(low["step_time_s"].get<double>() > 1.02 * high["step_time_s"].get<double>());
  REQUIRE(both["ranges"].size() == 1);
  const Json& input = both["ranges"][0];
  CHECK(input["key"] == "platform.fabric.nic");
  CHECK(input["low"] == "2 Gbps");
  CHECK(input["high"] == "20 Gbps");
  check_end(input, "low", low);
  check_end(input, "high", high);
  const Json& all = both["range_of_results"];
  CHECK(all["step_time_low_s"] == high["step_time_s"]);
  CHECK(all["step_time_high_s"] == low["step_time_s"]);
  CHECK(all["throughput_low_samples_per_s"] == low["throughput_samples_per_s"]);
  CHECK(all["throughput_high_samples_per_s"] == high["throughput_samples_per_s"]);
  CHECK(all["decisive_key"] == "platform.fabric.nic");
  CHECK(all["combined"] == "simulated");
  CHECK_FALSE(low.contains("ranges"));
  CHECK_FALSE(low.contains("range_of_results"));
}

TEST_CASE("the run has the value of its file if that lies in the range, otherwise the low end") {
  const std::string plain = run_with({"nodes=2"})["step_time_s"].dump();
  // 100 Gbps of the file are 12.5 GB/s.
  const Json inside = run_with({"nodes=2", "platform.fabric.nic=2..20 GB/s"});
  CHECK(inside["ranges"][0]["value"] == "100 Gbps");
  CHECK(inside["step_time_s"].dump() == plain);
  CHECK_FALSE(inside["changed_keys"].get<std::string>().find("nic") != std::string::npos);
  const Json outside = run_with({"nodes=2", "platform.fabric.nic=2..20 Gbps"});
  CHECK(outside["ranges"][0]["value"] == "2 Gbps");
  CHECK(outside["step_time_s"] == outside["ranges"][0]["step_time_at_low_s"]);
  // A default counts as a value of the file.
  const Json of_default = run_with({"accumulation=1..2"});
  CHECK(of_default["ranges"][0]["value"] == "1");
}

TEST_CASE("two ranges are simulated in all combinations, more are combined in quadrature") {
  const Json two = run_with({"nodes=2..3", "platform.fabric.nic=2..20 Gbps"});
  const Json slowest = run_with({"nodes=2", "platform.fabric.nic=2 Gbps"});
  const Json fastest = run_with({"nodes=3", "platform.fabric.nic=20 Gbps"});
  const Json& of_two = two["range_of_results"];
  CHECK(of_two["combined"] == "simulated");
  CHECK(of_two["throughput_low_samples_per_s"] == slowest["throughput_samples_per_s"]);
  CHECK(of_two["throughput_high_samples_per_s"] == fastest["throughput_samples_per_s"]);
  // Each alone has the other as in the run: 2 nodes and 2 Gbps.
  check_end(two["ranges"][0], "high", run_with({"nodes=3", "platform.fabric.nic=2 Gbps"}));
  check_end(two["ranges"][1], "high", run_with({"nodes=2", "platform.fabric.nic=20 Gbps"}));

  const Json three = run_with({"nodes=2..3", "platform.fabric.nic=2..20 Gbps", "platform.node.nics=1..8"});
  CHECK(three["range_of_results"]["combined"] == "quadrature");
  double most = 0;
  for (const Json& input : three["ranges"])
    most = std::max(most, input["throughput_at_high_samples_per_s"].get<double>());
  CHECK(three["range_of_results"]["throughput_high_samples_per_s"].get<double>() > most);
}

TEST_CASE("the page names the range of results, the input and the ends; options of keys take ranges, too") {
  const std::string page =
      run_program({"run", "--model", "resnet50", "--platform", "p3_16xlarge", "--nodes", "2..4"}).out;
  CHECK(contains(page, "if inputs vary"));
  CHECK(contains(page, "nodes=2..4 (2 here): "));
  CHECK(contains(page, "on 2 nodes of p3_16xlarge"));
  const std::string two = run_program(arguments({"nodes=2..3", "batch_per_gpu=64..128"}, {})).out;
  CHECK(contains(two, "combination of ends; nodes decides. Each alone: nodes=2..3 (2 here): "));
}

TEST_CASE("a range in the experiment's file is one of its run, whose value is the low end") {
  const Scratch scratch;
  const auto file = [&](const std::string& lines) {
    return scratch.put("job.yaml",
                       "platform: dgx_a100\nmodel: gpt2_small\nstack: pytorch_ddp\n"
                       "precision: amp_bf16\n" +
                           lines);
  };
  const auto run = [](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"run"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), {"--json", "--no-usage"});
    const Ended ended = run_program(all);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  const std::string one = file("micro_batch_size: 1..8\n");
  const Json given = run({one});
  REQUIRE(given["ranges"].size() == 1);
  const Json& input = given["ranges"][0];
  CHECK(input["key"] == "batch_per_gpu");
  CHECK(input["value"] == "1");
  CHECK(input["is_of_file"] == true);
  CHECK(given["batch_per_gpu"] == 1);
  CHECK_FALSE(given.contains("changed_keys"));
  check_end(input, "low", run({one, "--batch", "1"}));
  check_end(input, "high", run({one, "--batch", "8"}));
  REQUIRE(input["between"].size() == 2);
  CHECK(input["between"][1]["value"] == "4");
  CHECK(input["between"][1]["step_time_s"] == run({one, "--batch", "4"})["step_time_s"]);
  CHECK_FALSE(run({one, "--batch", "4"}).contains("ranges"));
  // a total and a key of the machine
  const Json two =
      run({file("batch_per_gpu: 2\nnodes: 2\nsequence_length: 256..1024\n"
                "set: {\"platform.fabric.nic\": 100..200 Gbps}\n")});
  REQUIRE(two["ranges"].size() == 2);
  CHECK(two["ranges"][0]["between"][0]["value"] == "512");
  CHECK(two["ranges"][1]["key"] == "platform.fabric.nic");
  CHECK(two["range_of_results"]["combined"] == "simulated");
  // the factor that the file states holds for each end of its global batch
  const Json global = run({file("global_batch: 32..64\nbatch_per_gpu: 2\n")});
  CHECK(global["accumulation"] == 2);
  CHECK(global["batch_per_gpu"] == 2);
  const Json error = given["expected_error"];
  const Json& all = given["range_of_results"];
  CHECK(all["expected_throughput_low_samples_per_s"].get<double>() ==
        doctest::Approx(all["throughput_low_samples_per_s"].get<double>() * (1 + error["low"].get<double>()))
            .epsilon(1e-9));
  for (const std::string lines : {"global_batch: 32..64\n", "micro_batch_size: 1..8\n"}) {
    const std::string refused = file(lines);
    for (const char* const command : {"memory", "explain", "check"}) {
      const Ended ended = run_program({command, refused});
      CAPTURE(lines + command);
      CHECK(ended.code == 3);
      CHECK(contains(ended.err, "only 'trainyard run' takes a range"));
    }
  }
}

TEST_CASE("a range in a file contradicts what its values contradict, at either end") {
  const Scratch scratch;
  const auto refused = [&](const std::string& lines, const std::string& words) {
    CAPTURE(lines);
    const std::string file = scratch.put(
        "job.yaml",
        "platform: dgx_a100\nmodel: gpt2_small\nstack: pytorch_ddp\nprecision: amp_bf16\n" + lines);
    const Ended ended = run_program({"run", file});
    CAPTURE(ended.err);
    CHECK(ended.code == 3);
    CHECK(has(ended.err, words));
  };
  refused("batch_per_gpu: 8\njob: {steps: 1..10, tokens: 2B}\n", "both the length of the job");
  refused("batch_per_gpu: 8\nranks: 8\nnodes: 1..4\n", "ranks and nodes are both given");
  refused("batch_per_gpu: 8\nranks: 8..16\ngpus: 8\n", "ranks and gpus are both given");
  refused("batch_per_gpu: 1..4\nglobal_batch: 64\naccumulation: 2\n", "all given");
  refused("batch_per_gpu: 8\nsequence_length: 512..1024\nset: {model.gpt2.sequence_length: 256}\n",
          "two words for one value");
  refused("batch_per_gpu: 8\nnodes: 1\ngpus: 8..16\n", "gpus=8..16 at 16 is refused");
}

TEST_CASE("values between the ends of a range count, and those that are refused do not") {
  // 16 GPUs: 64 divides by 16, not by 48
  const Json some = run_with({"global_batch=48..96"});
  REQUIRE(some["ranges"][0]["between"].size() == 1);
  CHECK(some["ranges"][0]["between"][0]["value"] == "64");
  const Json none = run_with({"global_batch=48..96", "accumulation=3"});
  CHECK(none["ranges"][0]["between"].empty());
}

TEST_CASE("a range in fidelity messages has the ends of that fidelity, and SimGrid still works for the run") {
  const std::vector<std::string> more{"--json", "--fidelity", "messages"};
  const std::vector<std::string> job{"model=mobilenet_v2", "nodes=2", "gpus_per_node=1"};
  const auto with = [&](const std::string& set) {
    std::vector<std::string> all = job;
    all.push_back(set);
    return run_with(all, more);
  };
  const Json both = with("platform.fabric.nic=2..20 Gbps");
  check_end(both["ranges"][0], "low", with("platform.fabric.nic=2 Gbps"));
  check_end(both["ranges"][0], "high", with("platform.fabric.nic=20 Gbps"));
  CHECK(both["network_engine"] == "simgrid");
}

TEST_CASE("an end that is refused is named with its key and the reason") {
  check_refused(arguments({"nodes=2", "platform.node.nics=1..64"}), 3,
                "platform.node.nics=1..64 at 64 is refused: the node has 8 NICs");
  check_refused(arguments({"batch_per_gpu=64..4096"}), 4, "batch_per_gpu=64..4096 at 4096 is refused:");
  check_refused(arguments({"nodes=1..2", "platform.node.nics=1..64"}), 3, "at 64");
}

TEST_CASE("texts that are no ranges, too many ranges and ranges of other commands are refused") {
  check_refused(arguments({"nodes=5..2"}), 3, "'5..2' is not a range: it counts down");
  check_refused(arguments({"nodes=3..3"}), 3, "'3..3' is not a range: its ends are equal");
  check_refused(arguments({"nodes=1..b"}), 3, "'1..b' is not a range: it needs two numbers");
  check_refused(arguments({"nodes=a..b"}), 3, "'a..b' is not a whole number");
  check_refused(arguments({"nodes=2..8 step 2"}), 3, "'2..8 step 2' has steps");
  check_refused(arguments({"nodes=2..4", "nodes=3"}), 2, "'nodes' is given twice");
  check_refused(arguments({"nodes=2..4", "batch_per_gpu=8..16", "accumulation=1..2",
                           "platform.node.nics=1..2", "platform.fabric.nic=25..50 Gbps"}),
                2, "5 keys are given as ranges, at most 4 can be");
  for (const char* const command : {"explain", "memory", "compare", "plan"}) {
    CAPTURE(command);
    check_refused({command, "resnet50_dgx2", "--set", "nodes=2..4"}, 2, "nodes=2..4 is a range");
  }
  check_refused({"topology", "dgx2", "--set", "platform.node.nics=1..8"}, 2,
                "platform.node.nics=1..8 is a range");
}
