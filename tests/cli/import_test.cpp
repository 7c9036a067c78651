// `trainyard import`, as users run it.

#include "cli/process.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace {

const std::string profile = TRAINYARD_SOURCE_DIR "/tests/imports/worker0.pt.trace.json";

}  // namespace

TEST_CASE("import kineto writes a trace that runs on any machine, and an account that adds up") {
  const Scratch scratch;
  const std::string out = scratch / "step.csv";
  const Ended text = run_program({"import", "kineto", profile, "-o", out});
  CAPTURE(text.err);
  REQUIRE(text.code == 0);
  CHECK(contains(text.out, "3 in the file; used: 3, 4, 5"));
  CHECK(contains(text.out, "1 all_reduce of 16,793,600 B in all"));
  CHECK(contains(text.err, "5 ops"));
  CHECK(run_program({"import", "kineto", profile, "-o", out}).code == 5);
  const Ended done =
      run_program({"import", "kineto", profile, "-o", out, "--batch", "512", "--force", "--json"});
  REQUIRE(done.code == 0);
  const auto json = nlohmann::json::parse(done.out);
  const auto& step = json["step"];
  const double sum = step["computing_s"].get<double>() + step["exposed_communication_s"].get<double>() +
                     step["host_copies_s"].get<double>() + step["idle_s"].get<double>();
  CHECK(step["period_s"].get<double>() == doctest::Approx(sum));
  CHECK(json["steps"].size() == 3);
  CHECK(json["steps"][1]["collectives"]["allreduce"]["bytes"] == 16'793'600);
  CHECK(json["gradients"] == 2);
  CHECK_FALSE(contains(done.out, "/tests/"));  // no path of the user's
  const Ended run =
      run_program({"run", "--platform", "dgx_a100", "--gpus", "2", "--set", "trace=" + out, "--json"});
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(contains(run.err, "batch 512 per GPU, as in the trace"));
  CHECK(nlohmann::json::parse(run.out)["step_time_s"].get<double>() ==
        doctest::Approx(step["computing_s"].get<double>()).epsilon(0.2));
}

TEST_CASE("import kineto refuses what it cannot read, with the code of what is wrong") {
  const Scratch scratch;
  const std::string out = scratch / "step.csv";
  CHECK(run_program({"import", "kineto", scratch / "none.json", "-o", out}).code == 5);
  const std::string chart = scratch.put("chart.json", R"({"nodes": []})");
  const Ended other = run_program({"import", "kineto", chart, "-o", out});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "no array of events"));
  CHECK(run_program({"import", "kineto", profile}).code == 2);
  CHECK(run_program({"import", "kineto", profile, "-o", out, "--batch", "0"}).code == 2);
  CHECK(run_program({"import"}).code == 2);
  const std::string cut = scratch.put("cut.json", content(profile).substr(0, 9000));
  const Ended part = run_program({"import", "kineto", cut, "-o", out});
  CHECK(part.code == 3);
  CHECK(contains(part.err, "cut off after byte"));
  const Ended allowed = run_program({"import", "kineto", cut, "-o", out, "--allow-truncated"});
  CHECK(allowed.code == 0);
  CHECK(contains(allowed.err, "its last step is left out"));
}

TEST_CASE("import nccl-tests writes rows that validate predicts") {
  const Scratch scratch;
  const std::string log = TRAINYARD_SOURCE_DIR "/tests/imports/all_reduce.log";
  const std::string out = scratch / "rows.csv";
  const std::vector<std::string> words{"import",  "nccl-tests",       log, "-o", out,
                                       "--intra", "NVSwitch, NVLink3"};
  const Ended done = run_program(words);
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.err, "6 rows"));
  CHECK(run_program(words).code == 5);
  const Ended validated = run_program({"validate", out, "--json"});
  CAPTURE(validated.err);
  REQUIRE(validated.code == 0);
  CHECK(contains(validated.out, "all_reduce"));
  const std::string other = scratch.put("other.log", "no table\n");
  CHECK(run_program({"import", "nccl-tests", other, "-o", scratch / "x.csv"}).code == 3);
  CHECK(run_program({"import", "nccl-tests", log, "-o", scratch / "x.csv", "--gpus", "1"}).code == 2);
}
