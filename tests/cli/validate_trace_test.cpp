// `trainyard validate-trace`, as users run it.

#include "cli/process.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

const std::string traced_profile = TRAINYARD_SOURCE_DIR "/tests/imports/worker0.pt.trace.json";
const std::string accumulated_profile = TRAINYARD_SOURCE_DIR "/tests/imports/mlp_accumulated4.json.gz";

double number_in(const nlohmann::json& json, const char* field) { return json[field].get<double>(); }

/// The parts of a step must add up to it.
void check_sum(const nlohmann::json& step) {
  const double other = step.contains("other_s") ? number_in(step, "other_s") : 0;
  CHECK(number_in(step, "time_s") ==
        doctest::Approx(number_in(step, "computing_s") + number_in(step, "exposed_communication_s") +
                        number_in(step, "host_copies_s") + number_in(step, "idle_s") + other));
}

}  // namespace

TEST_CASE("validate-trace replays a profile's step on its own machine") {
  const Ended done = run_program({"validate-trace", traced_profile, "--json"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["platform"] == "dgx_a100");
  CHECK(json["gpus"] == 2);
  CHECK(json["nodes"] == 1);
  for (const char* const step : {"profile", "replay", "predicted"}) check_sum(json[step]);
  CHECK(number_in(json["replay"], "computing_s") - number_in(json["replay"], "slowed_s") ==
        doctest::Approx(number_in(json["profile"], "computing_s")));
  CHECK(number_in(json["replay"], "idle_s") == doctest::Approx(number_in(json["profile"], "idle_s")));
  CHECK(std::abs(number_in(json, "replay_error")) < 0.1);
  REQUIRE(json["collectives"].size() == 1);
  CHECK(json["collectives"][0]["bytes"] == 16'793'600);
  CHECK(json["model"].is_null());
  CHECK(json["predicted_kernels"]["ops"].get<int>() >= 2);
  bool has_start = false;
  for (const auto& op : json["ops"]) {
    CHECK(op["predicted_s"].is_null() == op["source"].is_null());
    has_start = has_start || op["profile_start_s"].is_number();
  }
  CHECK(has_start);
  CHECK_FALSE(contains(done.out, "/tests/"));  // no path of the user's
  CHECK(run_program({"validate-trace", traced_profile, "--json"}).out == done.out);
}

TEST_CASE("validate-trace ends with 1 above its limit, after its table") {
  const Scratch scratch;
  const std::string csv = scratch / "ops.csv";
  const Ended missed =
      run_program({"validate-trace", traced_profile, "--fail-above", "predicted=0", "--csv", csv});
  CHECK(missed.code == 1);
  CHECK(contains(missed.out, "computing"));
  CHECK(contains(missed.err, "the predicted step differs by"));
  CHECK(contains(content(csv), "phase,layer,kind,shape,runs,profile_start_s"));
  CHECK(
      run_program({"validate-trace", traced_profile, "--fail-above", "50%", "--fail-above", "predicted=1000"})
          .code == 0);
  CHECK(run_program({"validate-trace", traced_profile, "--csv", csv}).code == 5);
  CHECK(run_program({"validate-trace", traced_profile, "--csv", csv, "--force"}).code == 0);
}

TEST_CASE("validate-trace writes its page as Markdown and for a browser") {
  const Scratch scratch;
  const std::string page = scratch / "trace.html";
  const Ended done = run_program({"validate-trace", traced_profile, "--markdown", "--html", page});
  CHECK(done.code == 0);
  CHECK(contains(done.out, "| profile | replay | difference |"));
  CHECK(contains(content(page), "Parts of the step"));
}

TEST_CASE("validate-trace repeats the micro-batches of a profile and puts a model beside it") {
  const Ended done = run_program({"validate-trace", accumulated_profile, "--json"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  CHECK(json["accumulation"] == 4);
  CHECK(json["platform"] == "dgx_h100");
  CHECK(json["gpus"] == 1);
  CHECK(std::abs(number_in(json, "replay_error")) < 0.03);
  const Ended model = run_program({"validate-trace", traced_profile, "--model", "resnet50", "--batch", "8",
                                   "--json", "--fail-above", "model=100000"});
  CAPTURE(model.err);
  REQUIRE(model.code == 0);
  const auto beside = nlohmann::json::parse(model.out)["model"];
  CHECK(beside["name"] == "resnet50");
  check_sum(beside);
  CHECK(beside["kinds"].size() > 3);
}

TEST_CASE("validate-trace names what its profile does not say") {
  const Scratch scratch;
  std::string text = content(traced_profile);
  const std::string gpu = "NVIDIA A100-SXM4-40GB";
  REQUIRE(contains(text, gpu));
  text.replace(text.find(gpu), gpu.size(), "Unheard-of GPU");
  const std::string file = scratch.put("other.json", text);
  const Ended unknown = run_program({"validate-trace", file});
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "no shipped platform has the profile's GPU"));
  CHECK(run_program({"validate-trace", file, "--platform", "dgx_a100"}).code == 0);
  const std::vector<std::vector<std::string>> wrong{{"--fail-above", "speed=3"},
                                                    {"--fail-above", "3", "--fail-above", "4"},
                                                    {"--fail-above", "model=3"},
                                                    {"--set", "trace=x.csv"},
                                                    {"--ops", "few"},
                                                    {"--optimizer", "adam"},
                                                    {"--rank", "1"},
                                                    {"--model", "resnet50"}};
  for (const std::vector<std::string>& options : wrong) {
    std::vector<std::string> words{"validate-trace", traced_profile};
    words.insert(words.end(), options.begin(), options.end());
    CAPTURE(options.front() + " " + options.back());
    CHECK(run_program(words).code == 2);
  }
  CHECK(run_program({"validate-trace", traced_profile, "--platform", "dgx_a101"}).code == 3);
  CHECK(run_program({"validate-trace", scratch.put("cut.json", text.substr(0, 9000))}).code == 3);
  CHECK(run_program({"validate-trace"}).code == 2);
}
