// Assumed numbers of a machine's file on which a run rests: their effect is part of the expected error.

#include "process.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// A p3.16xlarge under another name, which no published run has, with another fabric in place of "nic:
/// {...}".
std::string machine(const std::string& name, const std::string& nic) {
  std::string text = content(std::string(TRAINYARD_SOURCE_DIR) + "/platforms/p3_16xlarge.yaml");
  for (std::size_t at = 0; (at = text.find("assumed:", at)) != std::string::npos;)
    text.replace(at, 8, "specified:");
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  replace("name: p3_16xlarge", "name: " + name);
  replace(R"(nic: {value: 25 Gbps, specified: "AWS EC2 P3 instances"})", "nic: " + nic);
  replace(
      "  per_flow: {value: 10 Gbps, specified: \"one TCP flow in a placement group; AWS EC2 user guide, "
      "instance "
      "network bandwidth\"}\n",
      "");
  return text;
}

Json run_on(const std::string& platform, const std::vector<std::string>& set = {}) {
  std::vector<std::string> all{
      "run", "resnet50_p3_16xlarge_x2", "--json", "--set", "platform=" + platform, "--set", "nodes=2"};
  for (const std::string& one : set) all.insert(all.end(), {"--set", one});
  const Ended ended = run_program(all);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

/// The effect of an assumed input as the logarithm of the throughput at its low end.
double log_effect(const Json& run, const char* end) {
  return std::log(run["assumed_inputs"][0][end].get<double>() /
                  run["throughput_samples_per_s"].get<double>());
}

}  // namespace

TEST_CASE("a run names the assumed rate on which it rests, with the results at the ends of its range") {
  const Scratch scratch;
  const std::string assumed =
      scratch.put("assumed.yaml", machine("assumed", "{value: 5 Gbps, assumed: a guess, range: 2..20 Gbps}"));
  const Json run = run_on(assumed);
  REQUIRE(run.contains("assumed_inputs"));
  const Json& input = run["assumed_inputs"][0];
  CHECK(input["key"] == "platform.fabric.nic");
  CHECK(input["reason"] == "a guess");
  CHECK(input["value"] == "5 Gbps");
  CHECK(input["low"] == "2 Gbps");
  CHECK(input["high"] == "20 Gbps");
  const Json low = run_on(assumed, {"platform.fabric.nic=2 Gbps"});
  const Json high = run_on(assumed, {"platform.fabric.nic=20 Gbps"});
  CHECK(input["throughput_at_low_samples_per_s"].get<double>() ==
        doctest::Approx(low["throughput_samples_per_s"].get<double>()).epsilon(1e-9));
  CHECK(input["throughput_at_high_samples_per_s"].get<double>() ==
        doctest::Approx(high["throughput_samples_per_s"].get<double>()).epsilon(1e-9));
  const Ended ended = run_program({"run", "resnet50_p3_16xlarge_x2", "--set", "platform=" + assumed, "--set",
                                   "nodes=2", "--set", "accumulation=1..2", "--out", scratch / "out"});
  CHECK(contains(ended.out, "rests on an assumed 5 Gbps of platform.fabric.nic: "));
  const std::string page = content(scratch / "out/report.html");
  CHECK(contains(page, "<td>assumed inputs</td>"));
  CHECK(contains(page, "<td>if inputs vary</td>"));
}

TEST_CASE("the effect of an assumed rate is added to the expected error in quadrature") {
  const Scratch scratch;
  const Json run = run_on(scratch.put(
      "assumed.yaml", machine("assumed", "{value: 5 Gbps, assumed: a guess, range: 2..20 Gbps}")));
  const Json known =
      run_on(scratch.put("known.yaml", machine("known", "{value: 5 Gbps, specified: a data sheet}")));
  CHECK(run["step_time_s"] == known["step_time_s"]);
  REQUIRE(run["assumed_inputs"].size() == 1);
  const auto end = [](const Json& its, const char* name) {
    return std::log(1 + its["expected_error"][name].get<double>());
  };
  const double middle = (end(known, "low") + end(known, "high")) / 2;
  const double half = (end(known, "high") - end(known, "low")) / 2;
  CHECK(end(run, "low") ==
        doctest::Approx(middle - std::hypot(half, log_effect(run, "throughput_at_low_samples_per_s")))
            .epsilon(1e-6));
  CHECK(end(run, "high") ==
        doctest::Approx(middle + std::hypot(half, log_effect(run, "throughput_at_high_samples_per_s")))
            .epsilon(1e-6));
  CHECK(run["throughput_low_samples_per_s"].get<double>() <
        known["throughput_low_samples_per_s"].get<double>());
}

TEST_CASE("the two assumed inputs with the largest effects count, whichever of their ends is the slow one") {
  const Scratch scratch;
  std::string text = machine("assumed", "{value: 5 Gbps, assumed: a guess, range: 2..20 Gbps}");
  const auto assume = [&](const std::string& from, const std::string& range) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    const std::size_t source = text.find_first_of("ms", at + from.size());  // measured, specified
    text.replace(source, text.find(':', source) - source, "range: " + range + "\n    assumed");
  };
  assume("value: 0.95", "0.8..0.99");
  assume("value: 48 us", "40..4000 us");
  const std::string file = scratch.put("assumed.yaml", text);
  const Json run = run_on(file);
  REQUIRE(run["assumed_inputs"].size() == 2);
  std::set<std::string> keys;
  for (const Json& input : run["assumed_inputs"]) keys.insert(input["key"]);
  CHECK(keys == std::set<std::string>{"platform.fabric.latency", "platform.fabric.nic"});
  const double slow = run_on(file, {"platform.fabric.latency=4000 us"})["step_time_s"];
  const double nic = run_on(file, {"platform.fabric.nic=2 Gbps"})["step_time_s"];
  const double less = run_on(file, {"platform.fabric.efficiency=0.8"})["step_time_s"];
  const double as_it_is = run["step_time_s"];
  CHECK(less > 1.02 * as_it_is);
  CHECK(less < std::min(slow, nic));
  CHECK(run["assumed_inputs"][0]["key"] == (slow > nic ? "platform.fabric.latency" : "platform.fabric.nic"));
  for (const Json& input : run["assumed_inputs"]) {
    const bool is_latency = input["key"] == "platform.fabric.latency";
    CHECK(input[is_latency ? "step_time_at_high_s" : "step_time_at_low_s"].get<double>() ==
          doctest::Approx(is_latency ? slow : nic).epsilon(1e-9));
  }
}

TEST_CASE(
    "without a range, an assumed rate has a factor of two; what hardly matters, or is set, is not named") {
  const Scratch scratch;
  const std::string file =
      scratch.put("assumed.yaml", machine("assumed", "{value: 5 Gbps, assumed: a guess}"));
  const Json input = run_on(file)["assumed_inputs"][0];
  CHECK(input["key"] == "platform.fabric.nic");
  CHECK(input["low"] == "2.5 Gbps");
  CHECK(input["high"] == "10 Gbps");
  const auto names_nic = [](const Json& run) {
    return run.contains("assumed_inputs") &&
           run["assumed_inputs"].dump().find("fabric.nic") != std::string::npos;
  };
  CHECK_FALSE(names_nic(run_on(file, {"platform.fabric.nic=5 Gbps"})));
  CHECK_FALSE(names_nic(run_on(file, {"nodes=1"})));
}

TEST_CASE("a machine with published runs has the errors of its assumed values in theirs") {
  const Ended one = run_program({"run", "resnet50_dgx2", "--json"});
  CHECK_FALSE(Json::parse(one.out).contains("assumed_inputs"));
}

TEST_CASE("the speed of a part that nobody built is an assumed input") {
  const Json run = Json::parse(run_program({"run", "resnet50_dgx2", "--json", "--set", "gpu.speed=3"}).out);
  REQUIRE(run.contains("assumed_inputs"));
  const Json& input = run["assumed_inputs"][0];
  CHECK(input["key"] == "gpu.speed");
  CHECK(input["reason"] == "hypothetical");
  CHECK(input["low"] == "2.158");
  CHECK(input["high"] == "4.171");
  const Json slow =
      Json::parse(run_program({"run", "resnet50_dgx2", "--json", "--set", "gpu.speed=2.158"}).out);
  CHECK(input["throughput_at_low_samples_per_s"].get<double>() ==
        doctest::Approx(slow["throughput_samples_per_s"].get<double>()).epsilon(1e-9));
  CHECK_FALSE(Json::parse(run_program({"run", "resnet50_dgx2", "--json", "--set", "gpu.speed=1"}).out)
                  .contains("assumed_inputs"));
  // a range is answered as one
  const Json range =
      Json::parse(run_program({"run", "resnet50_dgx2", "--json", "--set", "gpu.speed=2..4"}).out);
  CHECK_FALSE(range.contains("assumed_inputs"));
  const Json links = Json::parse(
      run_program({"run", "resnet50_dgx2", "--json", "--set", "platform.node.speed.nvlink=0.02"}).out);
  CHECK(links["assumed_inputs"][0]["key"] == "platform.node.speed.nvlink");
  const Ended compared = run_program({"compare", "resnet50_dgx2", "--set", "gpu.speed=3"});
  REQUIRE(compared.code == 0);
  CHECK(contains(compared.out, "gpu.speed"));
  CHECK_FALSE(contains(compared.out, "no published runs differ"));
}

TEST_CASE("comparisons, explanations and sweeps have assumed inputs in their errors, as runs have") {
  const Scratch scratch;
  const std::string file =
      scratch.put("assumed.yaml", machine("assumed", "{value: 5 Gbps, assumed: a guess, range: 2..20 Gbps}"));
  const Json run = run_on(file);
  const std::vector<std::string> on{"--set", "platform=" + file, "--set", "nodes=2"};
  const auto json_of = [&](std::vector<std::string> words) {
    words.insert(words.end(), on.begin(), on.end());
    const Ended ended = run_program(words);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return ended.out;
  };
  const Json explained = Json::parse(json_of({"explain", "resnet50_p3_16xlarge_x2", "--json"}));
  CHECK(explained["assumed_inputs"][0] == run["assumed_inputs"][0]);
  CHECK(explained["expected_error"]["low"] == run["expected_error"]["low"]);

  // A is the shipped machine, B the one with the assumed card
  const Json compared = Json::parse(json_of({"compare", "resnet50_p3_16xlarge_x2", "--json"}));
  CHECK(compared["ratio_error"]["assumed"] == Json::array({"platform.fabric.nic"}));
  CHECK(contains(json_of({"compare", "resnet50_p3_16xlarge_x2"}),
                 "plus the effect of assumed platform.fabric.nic"));

  const Json swept = Json::parse(json_of(
      {"sweep", "resnet50_p3_16xlarge_x2", "--batch", "32,128", "--json", "--out", scratch / "sweep"}));
  const Json own = run_on(file, {"batch_per_gpu=32"});
  CHECK(swept["rows"][0]["throughput_low_samples_per_s"].get<double>() ==
        doctest::Approx(own["throughput_low_samples_per_s"].get<double>()).epsilon(1e-9));
}

TEST_CASE("points of a large sweep have the assumed inputs of the first point like them") {
  const Scratch scratch;
  const std::string file =
      scratch.put("assumed.yaml", machine("assumed", "{value: 5 Gbps, assumed: a guess, range: 2..20 Gbps}"));
  // the first point is one node, which needs no card; 4096 samples do not fit
  std::string batches = "4096";
  for (int batch = 1; batch <= 51; ++batch) batches += "," + std::to_string(batch);
  const Ended swept = run_program({"sweep", "resnet50_p3_16xlarge_x2", "--set", "platform=" + file, "--nodes",
                                   "1,2", "--batch", batches, "--json", "--out", scratch / "sweep"});
  CAPTURE(swept.err);
  const Json rows = Json::parse(swept.out)["rows"];
  const auto width_of = [&](int nodes) {
    for (const Json& row : rows) {
      if (row["keys"]["nodes"] == std::to_string(nodes) && row["keys"]["batch_per_gpu"] == "1")
        return row["throughput_low_samples_per_s"].get<double>() /
               row["throughput_samples_per_s"].get<double>();
    }
    return 0.0;
  };
  const Json own = run_on(file, {"batch_per_gpu=1"});
  const double its =
      own["throughput_low_samples_per_s"].get<double>() / own["throughput_samples_per_s"].get<double>();
  CHECK(width_of(2) == doctest::Approx(its).epsilon(1e-6));
  CHECK(width_of(1) > width_of(2));
}

TEST_CASE("a hypothetical speed of one point of a large sweep is not that of another") {
  const Scratch scratch;
  const Ended swept = run_program({"sweep", "resnet50_dgx2", "--set", "gpu.speed=1,3", "--batch",
                                   "1..51 step 1", "--json", "--out", scratch / "sweep"});
  REQUIRE(swept.code == 0);
  const Json rows = Json::parse(swept.out)["rows"];
  const auto low_of = [&](const char* speed) {
    for (const Json& row : rows) {
      if (row["keys"]["gpu.speed"] == speed && row["keys"]["batch_per_gpu"] == "32")
        return row["throughput_low_samples_per_s"].get<double>() /
               row["throughput_samples_per_s"].get<double>();
    }
    return 0.0;
  };
  CHECK(low_of("1") > 0.8);
  CHECK(low_of("3") < 0.8);
  CHECK(low_of("3") > 0.5);
}

TEST_CASE("a hypothetical speed in a run of many updates leaves its error and comparisons unknown") {
  const Json run =
      Json::parse(run_program({"run", "resnet50_p2_16xlarge_async", "--json", "--set", "gpu.speed=3"}).out);
  CHECK(run["expected_error"].is_null());
  CHECK(contains(run["unmodelled"]["expected_error"].get<std::string>(), "hypothetical speed"));
  const Json compared = Json::parse(
      run_program({"compare", "resnet50_p2_16xlarge_async", "--json", "--set", "gpu.speed=3"}).out);
  CHECK(contains(compared["ratio_error"]["reason"].get<std::string>(), "hypothetical speed"));
}

// SimGrid runs once in a process: the effects of like points must not need it.
TEST_CASE("a large sweep whose points are simulated in rounds takes the effects of closed forms") {
  const Scratch scratch;
  const Ended ended = run_program({"sweep", "resnet50_p3_16xlarge_x2", "--set", "fidelity=rounds", "--batch",
                                   "1..101 step 1", "--out", scratch / "sweep"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
}

TEST_CASE("a range belongs to an assumed number and lies around it") {
  const Scratch scratch;
  const auto check = [&](const std::string& nic, const std::string& message) {
    check_refused({"run", "resnet50_p3_16xlarge_x2", "--set",
                   "platform=" + scratch.put("machine.yaml", machine("machine", nic))},
                  3, message);
  };
  check("{value: 5 Gbps, specified: a data sheet, range: 2..20 Gbps}", "only an assumed value has a range");
  check("{value: 5 Gbps, assumed: a guess, range: 20..2 Gbps}", "'20..2 Gbps' is not a range");
  check("{value: 5 Gbps, assumed: a guess, range: 2..20}", "the value does not lie in its range");
  check("{value: 5 Gbps, assumed: a guess, range: 6..20 Gbps}", "the value does not lie in its range");
}
