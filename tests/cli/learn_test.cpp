// Learning in the order of a simulated job, as users ask for it.

#include "process.hpp"

#include <nlohmann/json.hpp>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

/// Four workers whose steps vary, and servers without a network.
constexpr const char* job_of_four = R"(platform: dgx2
gpus: 4
model: resnet50
stack: tf_parameter_server
software: ideal
batch_per_gpu: 32
sync: {kind: parameter_server, update: async, placement: free}
random: {seed: 1, step: {kind: exponential}}
steps: {warmup: 5, measured: 40, repeats: 3}
)";

constexpr const char* learner = R"(learn:
  model: softmax
  data: {name: digits, label_noise: 0.1}
  batch: 8
  rate: {base: 0.2}
  target: {loss: 1.5}
)";

Json json_of(const std::vector<std::string>& arguments) {
  const Ended ended = run_program(arguments);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return Json::parse(ended.out);
}

}  // namespace

TEST_CASE("learn in a file adds what was learnt to a run, and changes none of its times") {
  const Scratch folder;
  const std::string plain = folder.put("plain.yaml", job_of_four);
  const std::string learns = folder.put("learns.yaml", std::string(job_of_four) + learner);
  Json without = json_of({"run", plain, "--json"});
  Json with = json_of({"run", learns, "--json", "--out", folder / "out"});
  for (const char* field :
       {"step_time_s", "update_time_low_s", "update_time_high_s", "staleness_mean", "staleness_max",
        "throughput_samples_per_s", "gpu_utilization", "updates_measured"})
    CHECK(with[field] == without[field]);
  CHECK(with["step_parts_s"] == without["step_parts_s"]);
  CHECK(!without.contains("time_to_target_s"));
  CHECK(with["time_to_target_s"].get<double>() > 0);
  CHECK(with["time_to_target_low_s"] <= with["time_to_target_s"]);
  CHECK(with["updates_to_target"].get<double>() > 1);
  CHECK(with["final_loss"].get<double>() < 1.5);
  CHECK(with["diverged"] == 0);
  CHECK(with["learning_repeats"] == 3);
  CHECK(with["learning"]["learner"].get<std::string>().find("softmax on digits") != std::string::npos);
  CHECK(with["learning"]["clock"]["model"] == "resnet50");
  CHECK(with["learning"]["clock"]["platform"] == "dgx2");
  const std::string csv = content(folder / "out/learning.csv");
  CHECK(
      csv.starts_with("repeat,time_s,updates,samples,epochs,train_loss,train_error,test_loss,test_error,"
                      "staleness_mean,rate_mean,noise_scale_samples\n0,0,0,0,0,2.30258509299"));
  CHECK(csv.find("nan") == std::string::npos);
  const std::string page = content(folder / "out/report.html");
  CHECK(page.find("Training loss over simulated time") != std::string::npos);
  CHECK(page.find("Training loss over samples") != std::string::npos);
  CHECK(run_program({"run", learns}).out.find("softmax on digits") != std::string::npos);
  // the same input gives the same bytes
  json_of({"run", learns, "--json", "--out", folder / "again"});
  CHECK(content(folder / "again/learning.csv") == csv);
}

TEST_CASE("learning may last longer than the measurement, which stays as it is") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Json usual = json_of({"run", file, "--json"});
  const Json longer = json_of({"run", file, "--json", "--set", "learn.until.updates=1000"});
  CHECK(longer["step_time_s"] == usual["step_time_s"]);
  CHECK(longer["updates_measured"] == usual["updates_measured"]);
  CHECK(longer["learning"]["repeats"][0]["end"] == "updates");
  CHECK(longer["final_loss"] < usual["final_loss"]);
}

TEST_CASE("a synchronous job learns too, whether its steps vary or not") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(R"(platform: dgx2
gpus: 4
model: resnet50
stack: pytorch_ddp
batch_per_gpu: 32
steps: {warmup: 5, measured: 40, repeats: 3}
)") + learner);
  const Json steady = json_of({"run", file, "--json"});
  CHECK(steady["updates_per_s"].is_null());
  CHECK(steady["final_loss"].get<double>() < 2.0);
  CHECK(steady["learning"]["staleness_mean"] == 1.0);
  CHECK(steady["learning"]["repeats"].size() == 3);
  const Json varying = json_of({"run", file, "--json", "--set", "random.step.kind=exponential"});
  CHECK(varying["step_time_s"] > steady["step_time_s"]);
  CHECK(varying["learning"]["staleness_mean"] == 1.0);
}

TEST_CASE("a rate that is too high is a verdict, not a number") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Json json = json_of({"run", file, "--json", "--set", "learn.rate=1000000"});
  CHECK(json["diverged"] == 3);
  CHECK(json["final_loss"].is_null());
  CHECK(json["time_to_target_s"].is_null());
  CHECK(json["unmodelled"]["final_loss"].get<std::string>().find("diverged") != std::string::npos);
  CHECK(json["learning"]["repeats"][0]["diverged"] == true);
  const Ended text = run_program({"learn", file, "--set", "learn.rate=1000000"});
  CHECK(text.code == 0);
  CHECK(text.out.find("diverge") != std::string::npos);
  CHECK(text.out.find("nan") == std::string::npos);
}

TEST_CASE("learn gives a learner to an experiment without one, and lets the command line change it") {
  const Scratch folder;
  const std::string file = folder.put("plain.yaml", job_of_four);
  const Ended usual = run_program({"learn", file});
  CHECK(usual.code == 0);
  CHECK(usual.err.find("softmax on digits") != std::string::npos);
  CHECK(usual.out.find("resnet50 on dgx2") != std::string::npos);
  CHECK(run_program({"learn", file, "--set", "learn.rate.rule=by_staleness"}).code == 0);
  CHECK(run_program({"learn", file, "--set", "learn.model=mlp"}).code == 0);
  const Json json = json_of({"learn", file, "--json", "--set", "learn.model=quadratic"});
  CHECK(json["learning"]["learner"] == "quadratic");
  CHECK(json["error_floor"].is_null());
}

TEST_CASE("what cannot be learnt from is an error at its key") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const auto error = [&](const std::string& set) {
    const Ended ended = run_program({"run", file, "--set", set});
    CHECK(ended.code == 3);
    return ended.err;
  };
  CHECK(error("learn.data.file=missing.csv").find("learn.data") != std::string::npos);
  CHECK(error("learn.rate.rule=by_distance").find("distance") != std::string::npos);
  CHECK(error("learn.until.updates=1000000000").find("gradients") != std::string::npos);
  CHECK(error("learn.modle=mlp").find("learn.modle") != std::string::npos);
}

TEST_CASE("a sweep over update rules names those that are fast or good") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  const Ended text = run_program(
      {"sweep", file, "--set", "sync.update=sync,async", "--set", "learn.rate.base=0.1,1000000", "-j", "1"});
  CHECK(text.code == 0);
  CHECK(text.out.find("to target") != std::string::npos);
  CHECK(text.out.find("final loss") != std::string::npos);
  const Json json = json_of({"sweep", file, "--set", "sync.update=sync,async", "--set",
                             "learn.rate.base=0.1,1000000", "-j", "1", "--json"});
  CHECK(json["rows"].size() == 4);
  CHECK(json["rows"][1]["final_loss"].is_null());
  CHECK(json["rows"][1]["diverged"] == 3);
  CHECK(json["learning_front"].size() >= 1);
}

TEST_CASE("compare tells two ways of learning apart") {
  const Scratch folder;
  const std::string file = folder.put("learns.yaml", std::string(job_of_four) + learner);
  json_of({"run", file, "--json", "--out", folder / "async"});
  json_of({"run", file, "--json", "--set", "sync.update=sync", "--out", folder / "sync"});
  const Ended ended = run_program({"compare", folder / "async", folder / "sync"});
  CHECK(ended.code == 0);
  CHECK(ended.out.find("final loss") != std::string::npos);
  CHECK(ended.out.find("time to target") != std::string::npos);
}
