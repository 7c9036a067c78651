// Whole jobs, as users start them.

#include "process.hpp"

#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Json job_summary(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"run", "resnet50_p3_16xlarge_x2", "--json", "--fidelity", "closed"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

}  // namespace

TEST_CASE("--epochs adds the whole job, with or without a block") {
  const Json step = job_summary({});
  const Json job = job_summary({"--epochs", "90"});
  CHECK_FALSE(step.contains("job_time_s"));
  CHECK(job["job_time_s"].get<double>() ==
        doctest::Approx(90 * step["epoch_time_s"].get<double>()).epsilon(1e-9));
  CHECK(job["job_cost_usd"].get<double>() ==
        doctest::Approx(90 * step["cost_per_epoch_usd"].get<double>()).epsilon(1e-9));
  const Json started = job_summary({"--epochs", "90", "--set", "job.launch=1 h"});
  CHECK(started["job_time_s"].get<double>() ==
        doctest::Approx(3600 + job["job_time_s"].get<double>()).epsilon(1e-9));
}

TEST_CASE("a wrong length of a job is an error") {
  CHECK(run_program({"run", "resnet50_p3_16xlarge_x2", "--epochs", "0"}).code == 2);
  CHECK(run_program({"run", "resnet50_p3_16xlarge_x2", "--epochs", "many"}).code == 2);
  CHECK(run_program({"run", "resnet50_p3_16xlarge_x2", "--epochs", "2", "--set", "job.epochs=3"}).code == 2);
  const Ended both = run_program({"run", "resnet50_p3_16xlarge_x2", "--epochs", "2", "--set", "job.steps=3"});
  CHECK(both.code == 2);
  CHECK(contains(both.err, "job.steps"));
  CHECK(run_program({"run", "gpt2_small_dgx2", "--epochs", "2"}).code == 3);
}

TEST_CASE("--tokens adds the whole job of a model that reads sequences, in runs and, as a key, in sweeps") {
  const auto summary = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"run", "bert_base_p3dn", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended ended = run_program(all);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  const Json step = summary({});
  const Json job = summary({"--tokens", "300B"});
  CHECK(job["job"]["tokens"] == 300e9);
  CHECK(job["job_time_s"].get<double>() ==
        doctest::Approx(300e9 / step["throughput_tokens_per_s"].get<double>()).epsilon(1e-9));
  CHECK(job["job_cost_usd"].get<double>() ==
        doctest::Approx(300e9 / step["tokens_per_usd"].get<double>()).epsilon(1e-9));
  CHECK(step["throughput_tokens_per_s_and_gpu"].get<double>() ==
        doctest::Approx(step["throughput_tokens_per_s"].get<double>() / 32).epsilon(1e-9));
  CHECK(contains(run_program({"run", "bert_base_p3dn", "--tokens", "300B"}).out, "300 B tokens, "));
  CHECK(contains(run_program({"run", "bert_base_p3dn"}).out, " per GPU, "));
  const Ended sweep =
      run_program({"sweep", "bert_base_p3dn", "--set", "nodes=4", "--tokens", "300B", "--json"});
  REQUIRE(sweep.code == 0);
  CHECK(Json::parse(sweep.out)["rows"][0]["job_time_s"] == job["job_time_s"]);

  CHECK(run_program({"run", "bert_base_p3dn", "--tokens", "many"}).code == 3);
  CHECK(run_program({"run", "bert_base_p3dn", "--tokens", "1T", "--epochs", "2"}).code == 2);
  CHECK(run_program({"run", "bert_base_p3dn", "--tokens", "1T", "--set", "job.tokens=2T"}).code == 2);
  const Ended images = run_program({"run", "resnet50_dgx2", "--tokens", "1T"});
  CHECK(images.code == 3);
  CHECK(contains(images.err, "resnet50 does not read tokens"));
  CHECK_FALSE(job_summary({}).contains("tokens_per_usd"));
  CHECK_FALSE(job_summary({"--epochs", "2"})["job"].contains("tokens"));
}

TEST_CASE("a sweep of jobs chooses by their totals, and --epochs is their length") {
  const auto sweep = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"sweep", "resnet50_p3_16xlarge_x2", "--set", "nodes=1,2,8", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run_program(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out);
  };
  const Json steps = sweep({"--epochs", "2"});
  CHECK_FALSE(steps["rows"][0].contains("job_time_s"));
  // An hour of start-up is cheapest on one node.
  const Json jobs = sweep({"--epochs", "2", "--set", "job.launch=1 h"});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(jobs["rows"][i]["job_time_s"].get<double>() ==
          doctest::Approx(3600 + 2 * steps["rows"][i]["epoch_time_s"].get<double>()).epsilon(1e-9));
  }
  CHECK(jobs["rows"][0]["training_time_s"] == jobs["rows"][0]["job_time_s"]);
  CHECK(jobs["rows"][0]["training_cost_usd"] == jobs["rows"][0]["job_cost_usd"]);
  CHECK(jobs["best"]["cheapest"] == 0);
  CHECK(run_program({"sweep", "resnet50_p3_16xlarge_x2", "--set", "job.epochs=1,2", "--epochs", "2"}).code ==
        3);
}

TEST_CASE("--target trains until it is reached, in runs and in sweeps") {
  const Json job = job_summary({"--target", "75.9 % top-1"});
  CHECK(job["target"] == "75.9 % top-1");
  CHECK(job["time_to_target_low_s"] < job["time_to_target_s"]);
  CHECK(job["time_to_target_s"] < job["time_to_target_high_s"]);
  CHECK_FALSE(job_summary({"--epochs", "90"}).contains("time_to_target_s"));
  const std::vector<std::string> command{
      "sweep", "resnet50_p3_16xlarge_x2", "--set", "nodes=1,2,8", "--target", "75.9 % top-1", "--json"};
  const Ended ended = run_program(command);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Json sweep = Json::parse(ended.out);
  CHECK(sweep["rows"][1]["time_to_target_s"].get<double>() ==
        doctest::Approx(job["time_to_target_s"].get<double>()).epsilon(0.05));
  CHECK(sweep["rows"][2]["training_time_s"] == sweep["rows"][2]["job_time_s"]);
  CHECK(sweep["best"]["fastest"] == 2);
  CHECK(job["samples_range"] == "measured");
  CHECK(sweep["rows"][1]["samples_range"] == "measured");
}

TEST_CASE("a sweep to a target marks batches outside the published ones, in every form") {
  const Scratch folder;
  const std::string out = folder / "marked";
  const std::vector<std::string> command{"sweep", "resnet50_p3_16xlarge_x2", "--set",    "nodes=1",
                                         "--set", "batch_per_gpu=64,256",    "--set",    "accumulation=1,40",
                                         "--set", "memory=ignore",           "--target", "75.9 % top-1"};
  std::vector<std::string> as_json = command;
  as_json.insert(as_json.end(), {"--out", out, "--json"});
  const Ended ended = run_program(as_json);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Json sweep = Json::parse(ended.out);
  CHECK(sweep["rows"][0]["samples_range"] == "below");     // 512
  CHECK(sweep["rows"][2]["samples_range"] == "measured");  // 2,048
  CHECK(sweep["rows"][3]["samples_range"] == "beyond");    // 81,920
  const std::string csv = content(out + "/sweep.csv");
  CHECK(contains(csv, "samples_range"));
  CHECK(contains(csv, ",beyond,"));
  CHECK(contains(content(out + "/report.html"), "beyond"));
  CHECK(contains(run_program(command).out, "beyond"));
}

TEST_CASE("--epochs prints the accuracy that the published runs reached, in runs and in sweeps") {
  const Json job = job_summary({"--epochs", "90"});
  CHECK(job["expected_accuracy"] == 0.7644);
  CHECK(job["accuracy_metric"] == "top-1");
  const Ended text = run_program({"run", "resnet50_p3_16xlarge_x2", "--epochs", "90"});
  CHECK(contains(text.out, "76.4 % top-1"));
  CHECK(job_summary({"--epochs", "30"})["expected_accuracy"].is_null());
  const Ended ended = run_program(
      {"sweep", "resnet50_p3_16xlarge_x2", "--set", "nodes=1,2", "--set", "job.epochs=90", "--json"});
  REQUIRE(ended.code == 0);
  const Json sweep = Json::parse(ended.out);
  CHECK(sweep["rows"][1]["expected_accuracy"] == 0.7644);
  CHECK(sweep["rows"][1]["accuracy_range"] == "measured");
}

TEST_CASE("a target that is unknown, or given beside a length, is an error") {
  CHECK(run_program({"run", "resnet50_p3_16xlarge_x2", "--target", "99 %"}).code == 3);
  CHECK(run_program({"run", "resnet50_p3_16xlarge_x2", "--target", "75.9 % top-1", "--epochs", "2"}).code ==
        2);
  CHECK(run_program({"sweep", "resnet50_p3_16xlarge_x2", "--target", "75.9 % top-1", "--epochs", "2"}).code ==
        2);
}
