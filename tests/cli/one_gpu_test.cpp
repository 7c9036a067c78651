// --one-gpu from the outside: the commands that have it, and what they say.

#include "process.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json printed_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

bool is_equal_to(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

const std::vector<std::string> measured_rate{"--one-gpu", "300 samples/s"};

std::vector<std::string> with_words(std::vector<std::string> some, const std::vector<std::string>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

}  // namespace

TEST_CASE("run --one-gpu scales kernels to the rate, and every output says so") {
  const Scratch scratch;
  const Json run = printed_json(with_words({"run", "resnet50_dgx2"}, measured_rate));
  CHECK(is_equal_to(128 / run["one_rank_step_time_s"].get<double>(), 300));
  CHECK(run["one_gpu_samples_per_s"] == 300);
  const double scale = run["one_gpu_scale"].get<double>();
  CHECK(scale > 1.2);
  CHECK(run["calibrated_on"].front() == "one GPU of this machine: 300 samples/s (one_gpu)");
  CHECK(run["resolved_experiment"]["one_gpu"] == "\"300 samples/s\"");

  const Ended text =
      run_program(with_words({"run", "resnet50_dgx2", "--out", scratch / "out"}, measured_rate));
  CHECK(contains(text.out, "\n  one GPU measured: 300 samples/s; kernels x 1.2"));
  CHECK(text.out == run_program({"run", "resnet50_dgx2", "--set", "one_gpu=300 samples/s"}).out);
  const std::string page = content(scratch / "out/report.html");
  CHECK(contains(page, "one GPU measured: <span class=\"n\">300 samples/s"));
  CHECK(contains(page, "kernels x "));
  // the saved experiment replays to the same numbers, and is explained with them
  const Json again = printed_json({"run", scratch / "out/experiment.resolved.yaml"});
  CHECK(again["step_time_s"] == run["step_time_s"]);
  CHECK(again["notes"] == run["notes"]);
  CHECK(printed_json({"explain", scratch / "out"})["step_time_s"] == run["step_time_s"]);
  CHECK(content(scratch / "out/experiment.resolved.yaml") == [&] {
    run_program({"run", scratch / "out/experiment.resolved.yaml", "--out", scratch / "again"});
    return content(scratch / "again/experiment.resolved.yaml");
  }());

  const Json plain = printed_json({"run", "resnet50_dgx2"});
  CHECK(plain["one_gpu_scale"].is_null());
  CHECK(plain["unmodelled"].contains("one_gpu_scale"));
}

TEST_CASE("memory names the measurement and stays the same") {
  const Ended with = run_program(with_words({"memory", "resnet50_dgx2"}, measured_rate));
  CHECK(contains(with.out, "one GPU measured: 300 samples/s"));
  Json scaled = printed_json(with_words({"memory", "resnet50_dgx2"}, measured_rate));
  Json plain = printed_json({"memory", "resnet50_dgx2"});
  CHECK(contains(scaled["notes"].dump(), "300 samples/s"));
  scaled.erase("notes");
  scaled.erase("changed_keys");
  plain.erase("changed_keys");
  plain.erase("notes");
  CHECK(scaled == plain);
}

TEST_CASE("compare --one-gpu applies to both sides with the factor of A; --set one_gpu changes B") {
  const Json run = printed_json(with_words({"run", "resnet50_dgx2"}, measured_rate));
  const Json both =
      printed_json(with_words({"compare", "resnet50_dgx2", "--set", "batch_per_gpu=64"}, measured_rate));
  CHECK(both["step_time"]["a_s"] == run["step_time_s"]);
  CHECK(both["experiment_differences"] == Json{{{"key", "batch_per_gpu"}, {"a", "128"}, {"b", "64"}}});
  const Json b = printed_json(
      {"run", "resnet50_dgx2", "--set", "batch_per_gpu=64", "--set", "one_gpu=300 samples/s", "--set",
       "one_gpu_scale=" + run["resolved_experiment"]["one_gpu_scale"].get<std::string>()});
  CHECK(is_equal_to(both["step_time"]["b_s"].get<double>(), b["step_time_s"].get<double>()));

  const Json changed = printed_json({"compare", "resnet50_dgx2", "--set", "one_gpu=300 samples/s"});
  CHECK(is_equal_to(changed["step_time"]["a_s"].get<double>(),
                    printed_json({"run", "resnet50_dgx2"})["step_time_s"].get<double>()));
  CHECK(is_equal_to(changed["step_time"]["b_s"].get<double>(), run["step_time_s"].get<double>()));

  const Ended two = run_program(with_words({"compare", "resnet50_dgx2", "resnet50_dgx1v"}, measured_rate));
  CHECK(two.code == 0);
  CHECK(contains(two.out, "one GPU measured: 300 samples/s; kernels x"));
}

TEST_CASE("explain keeps the factor in what it tries, and its commands repeat it") {
  const std::vector<std::string> fast{"--one-gpu", "1000 samples/s"};
  const Json why = printed_json(with_words({"explain", "resnet50_p3_16xlarge_x2"}, fast));
  const Json* faster = nullptr;
  for (const Json& row : why["changes"]) {
    if (row["set"].contains("gpu.speed")) faster = &row;
  }
  REQUIRE(faster != nullptr);
  CHECK((*faster)["gain"].get<double>() > 0.5);
  const Ended page = run_program(with_words({"explain", "resnet50_p3_16xlarge_x2"}, fast));
  const std::size_t at = page.out.find("one_gpu_scale=");
  REQUIRE(at != std::string::npos);
  const std::string scale = page.out.substr(at, page.out.find_first_of(" \n", at) - at);
  const Json repeated = printed_json(
      with_words({"run", "resnet50_p3_16xlarge_x2", "--set", scale, "--set", "gpu.speed=2"}, fast));
  CHECK(is_equal_to((*faster)["step_time_s"].get<double>(), repeated["step_time_s"].get<double>()));
}

TEST_CASE("a sweep keeps the factor of its experiment") {
  const Scratch scratch;
  const Json run = printed_json(with_words({"run", "resnet50_dgx2"}, measured_rate));
  const Ended sweep =
      run_program(with_words({"sweep", "resnet50_dgx2", "--set", "batch_per_gpu=64,128"}, measured_rate));
  CAPTURE(sweep.err);
  CHECK(sweep.code == 0);
  CHECK(contains(sweep.out, "one GPU measured: 300 samples/s; kernels x 1.2"));
  const Json points = printed_json(
      with_words({"sweep", "resnet50_dgx2", "--set", "batch_per_gpu=64,128"}, measured_rate))["rows"];
  CHECK(points[0]["one_gpu_scale"] == run["one_gpu_scale"]);
  CHECK(is_equal_to(points[1]["step_time_s"].get<double>(), run["step_time_s"].get<double>()));
  const Ended slurm =
      run_program(with_words({"sweep", "resnet50_dgx2", "--slurm", "--out", scratch / "s"}, measured_rate));
  CHECK(slurm.code == 0);
  CHECK(contains(content(scratch / "s/slurm/array.sh"), "--one-gpu"));
}

TEST_CASE("rates that cannot be are refused, by each command") {
  for (const char* const command : {"run", "memory", "explain", "sweep"}) {
    CAPTURE(command);
    check_refused({command, "resnet50_dgx2", "--one-gpu", "803"}, 3, "803 samples/s");
    check_refused({command, "resnet50_dgx2", "--one-gpu", "70 samples/s"}, 3, "times as slow");
    check_refused({command, "resnet50_dgx2", "--one-gpu", "300 samples/s", "--set", "one_gpu=301 samples/s"},
                  2, "--one-gpu");
  }
  check_refused({"sweep", "resnet50_dgx2", "--one-gpu", "70 samples/s", "--set", "gpus=1,2"}, 3,
                "times as slow");
  check_refused({"compare", "resnet50_dgx2", "--one-gpu", "300 samples/s"}, 2, "B: ");
  check_refused({"compare", "resnet50_dgx2", "resnet50_dgx1v", "--one-gpu", "9000 samples/s"}, 3,
                "times as fast");
  const Scratch scratch;
  REQUIRE(run_program({"run", "resnet50_dgx2", "--out", scratch / "saved"}).code == 0);
  check_refused({"explain", scratch / "saved", "--one-gpu", "300 samples/s"}, 2, "is a saved run");
  check_refused({"compare", scratch / "saved", "resnet50_dgx2", "--one-gpu", "300 samples/s"}, 2,
                "is a saved run");
}
