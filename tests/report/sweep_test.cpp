#include "../sweep/hand_made.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "report/sweep_words.hpp"
#include "run/figures.hpp"
#include "sweep/run_sweep.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace trainyard;

namespace {

bool has_text(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("sweep.csv has a row for each point that is done, with what only all rows together tell") {
  CHECK(sweep_csv(sample_sweep()) ==
        "point,model,nodes,ranks,step_time_s,throughput_samples_per_s,speedup,scaling_efficiency,"
        "exposed_communication_s,model_flops_utilization,memory_utilization,average_power_w,rent_usd_per_h,"
        "epoch_time_s,cost_per_epoch_usd,goodput_samples_per_s,samples_per_usd,samples_per_j,"
        "energy_per_epoch_j,baseline_ranks,relative_speedup,relative_efficiency,is_pareto\n"
        "0,a,1,4,0.02,100,4,1,,,,500,10,7200,,,36000,0.2,3600000,4,1,1,1\n"
        "1,a,2,8,0.0133333333333,150,6,0.75,,,,1000,20,4800,,,27000,0.15,4800000,4,1.5,0.75,1\n");
}

TEST_CASE(
    "failures.csv has a row for each point that failed, with the code and reason of a run of it alone") {
  CHECK(failures_csv(sample_sweep()) ==
        "point,model,nodes,exit_code,reason\n"
        "2,\"b, large\",1,4,\"does not fit: \"\"room\"\" for 1\"\n"
        "3,\"b, large\",2,3,no such model\n");
  CHECK(failures_csv(made_result({}, {})) == "point,exit_code,reason\n");
}

TEST_CASE("no spreadsheet executes a value or a reason of a sweep") {
  const SweepResult result =
      made_result({"model"}, {{.values = {"=cmd"}, .status = PointStatus::wrong, .reason = "@x: no model"}});
  CHECK(failures_csv(result) == "point,model,exit_code,reason\n0,'=cmd,3,'@x: no model\n");
}

TEST_CASE("every way to fail has an exit code of its own, in failures.csv and in JSON") {
  const SweepResult result =
      made_result({"nodes"}, {{.values = {"1"}, .status = PointStatus::wrong, .reason = "x"},
                              {.values = {"2"}, .status = PointStatus::impossible, .reason = "x"},
                              {.values = {"3"}, .status = PointStatus::unreadable, .reason = "x"}});
  CHECK(failures_csv(result) == "point,nodes,exit_code,reason\n0,1,3,x\n1,2,4,x\n2,3,5,x\n");
  const nlohmann::ordered_json json = sweep_json(result);
  for (const int i : {0, 1, 2}) CHECK(json["failures"][static_cast<std::size_t>(i)]["exit_code"] == 3 + i);
}

TEST_CASE("a key that is a figure has one column, the key's") {
  const std::string csv = sweep_csv(made_result({"ranks"}, {{.values = {"4"}, .ranks = 4, .throughput = 1}}));
  CHECK(csv.starts_with("point,ranks,step_time_s,"));
  CHECK(csv.find("\n0,4,2,1,") != std::string::npos);
}

TEST_CASE("a sweep as JSON: rows, failures, best points and series, by point") {
  const nlohmann::ordered_json json = sweep_json(sample_sweep());
  CHECK(json["points"] == 4);
  CHECK(json["done"] == 2);
  CHECK(json["failed"] == 2);
  CHECK(json["rows"][1]["keys"] == nlohmann::ordered_json{{"model", "a"}, {"nodes", "2"}});
  CHECK(json["rows"][1]["training_cost_usd"].get<double>() == doctest::Approx(26.666666666667));
  CHECK(json["rows"][1]["relative_efficiency"] == 0.75);
  CHECK(json["rows"][0]["cost_per_epoch_usd"].is_null());
  CHECK(json["failures"][0] == nlohmann::ordered_json{{"point", 2},
                                                      {"keys", {{"model", "b, large"}, {"nodes", "1"}}},
                                                      {"exit_code", 4},
                                                      {"reason", "does not fit: \"room\" for 1"}});
  CHECK(json["best"] ==
        nlohmann::ordered_json{
            {"fastest", 1}, {"cheapest", 0}, {"least_energy", 0}, {"most_accurate", nullptr}});
  CHECK(json["pareto"] == nlohmann::ordered_json{1, 0});
  CHECK(json["series"].size() == 1);
  CHECK(json["series"][0] ==
        nlohmann::ordered_json{{"name", "model=a"},
                               {"points", {0, 1}},
                               {"scales_to", {{"efficiency_min", 0.8}, {"ranks", 4}, {"error", nullptr}}}});
}

TEST_CASE("needs in words: the interval, the accuracy, and a batch beyond the published ones") {
  const SweepResult result = sample_sweep();
  Needs needs{.time_s = 7200, .cost_usd = 10, .energy_j = {}};
  CHECK(needs_in_words(result, needs) == "an epoch in 2 h 00 min, 10.0 USD");
  needs.is_rent_assumed = true;
  CHECK(has_text(needs_in_words(result, needs), "10.0 USD (assumed"));
  needs.is_rent_assumed = false;
  needs.time_range = TimeRange{.low_s = 7200, .high_s = 7200};  // a single repeat
  CHECK(needs_in_words(result, needs) == "an epoch in 2 h 00 min, 10.0 USD");
  needs.time_range = TimeRange{.low_s = 3600, .high_s = {}};
  needs.accuracy = 0.763;
  needs.accuracy_low = 0.761;
  needs.accuracy_high = 0.764;
  needs.is_beyond = true;
  CHECK(needs_in_words(result, needs) ==
        "an epoch in 2 h 00 min (1 h 00 min to never), 10.0 USD, 76.3 % accuracy (76.1 % to 76.4 %), batch "
        "beyond the published ones");
  CHECK(needs_compared({needs}) == "time, cost, energy and accuracy");
  CHECK(needs_compared({Needs{}}) == "time, cost and energy");
  Goal goal;
  goal.accuracy_min = 0.76;
  CHECK(limits_in_words(goal) == "with at least 76.0 % accuracy");
}

TEST_CASE("points and series are named without defaults, unless there is nothing else") {
  const SweepResult result =
      made_result({"gpus", "precision"}, {{.values = {"1", "default"}, .ranks = 1, .throughput = 1},
                                          {.values = {"1", "amp"}, .ranks = 1, .throughput = 2},
                                          {.values = {"2", "default"}, .ranks = 2, .throughput = 2},
                                          {.values = {"2", "amp"}, .ranks = 2, .throughput = 4}});
  CHECK(point_in_words(result.sweep, 0) == "gpus=1");
  CHECK(point_in_words(result.sweep, 1) == "gpus=1, precision=amp");
  const std::vector<Series> all = series_of(result);
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "precision=default");
  CHECK(all[1].name == "precision=amp");
}

TEST_CASE("a row in a line names its point and says what came of it") {
  const SweepResult result = sample_sweep();
  CHECK(sweep_line(result, result.rows[1]).starts_with("model=a, nodes=2: 13.3 ms, 150 samples/s, 75.0 % "));
  CHECK(sweep_line(result, result.rows[3]) == "model=b, large, nodes=2: wrong: no such model");
}

TEST_CASE("figures of a sweep are named once, and know what reports read of them") {
  const std::vector<std::string> names = sweep_columns();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : made_figures) {
    CAPTURE(name);
    CHECK(std::ranges::find(names, name) != names.end());
  }
}
