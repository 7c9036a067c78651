// Whole jobs and power in the summary, summary.json and trace.json.

#include "report/summary_json.hpp"
#include "report/trace_json.hpp"
#include "run/simulate.hpp"
#include "run_forms.hpp"
#include "shipped_experiment.hpp"
#include "trace_rules.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

Run whole_job_run(const char* experiment, Overrides overrides) {
  overrides.insert(overrides.begin(), {"platform.node.power.overhead", "1 kW"});
  return simulate(testing::shipped_experiment(experiment, overrides), {.fidelity = Fidelity::closed});
}

const Overrides two_epochs{
    {"job",
     "{epochs: 2, launch: 30 s, evaluation: {samples: 50000}, checkpoint: {size: 1 GB, bandwidth: 1 GB/s}}"}};

bool speaks_of(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The integral of each process's counter, in J.
std::map<int, double> counted_energies(const Json& trace) {
  std::map<int, std::pair<double, double>> last;  // date in us, W
  std::map<int, double> sums;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    REQUIRE(event["name"] == "power");
    const int process = event["pid"];
    const double date = event["ts"];
    if (last.contains(process))
      sums[process] += last[process].second * (date - last[process].first) * 1e-6;
    else
      CHECK(date == 0);
    last[process] = {date, event["args"]["W"].get<double>()};
  }
  return sums;
}

}  // namespace

TEST_CASE("summary.json has the phases of a job, and they add up") {
  const Run run = whole_job_run("resnet50_p3_16xlarge_x2", two_epochs);
  const Json json = summary_json(run, {});
  double time = 0;
  double energy = 0;
  double cost = 0;
  std::vector<std::string> phases;
  for (const Json& part : json["job"]["parts"]) {
    phases.push_back(part["phase"]);
    time += part["time_s"].get<double>();
    energy += part["energy_j"].get<double>();
    cost += part["cost_usd"].get<double>();
  }
  CHECK(phases == std::vector<std::string>{"launch", "training", "evaluation", "checkpoint"});
  CHECK(json["job_time_s"] == time);
  CHECK(json["job_energy_j"] == energy);
  CHECK(json["job_cost_usd"] == cost);
  CHECK(json["job"]["epochs"] == 2);
  CHECK(json["job"]["steps"].get<double>() == doctest::Approx(2 * 1281167 / 4096.0).epsilon(1e-12));
  CHECK(json["job"]["parts"][2]["times"] == 2);
}

TEST_CASE("without a job no field and no line speaks of one") {
  const Run run = whole_job_run("resnet50_p3_16xlarge_x2", {});
  const Json json = summary_json(run, {});
  for (const auto& [field, value] : json.items()) {
    CAPTURE(field);
    CHECK_FALSE(field.starts_with("job"));
  }
  CHECK_FALSE(speaks_of(summary_text(run), "the whole job"));
}

TEST_CASE("the summary prints the total and each phase") {
  const std::string text = summary_text(whole_job_run("resnet50_p3_16xlarge_x2", two_epochs));
  CAPTURE(text);
  const std::size_t begin = text.find("\nthe whole job  2 epochs, 626 steps\n");
  REQUIRE(begin != std::string::npos);
  const std::string section = text.substr(begin + 1, text.find("\n\n", begin + 1) - begin);
  std::vector<std::string> labels;
  for (std::size_t line = section.find("\n  "); line != std::string::npos;
       line = section.find("\n  ", line + 1))
    labels.push_back(section.substr(line + 3, section.find(' ', line + 3) - line - 3));
  CHECK(labels == std::vector<std::string>{"total", "launch", "training", "evaluation", "checkpoint"});
  CHECK(speaks_of(section, " USD"));
  CHECK(speaks_of(section, "2 evaluations"));
  CHECK(speaks_of(section, "2 checkpoints"));
}

TEST_CASE("the integral of the power in trace.json is the energy of the step, rank by rank") {
  for (const char* experiment : {"resnet50_p3_16xlarge_x2", "resnet50_p3_8xlarge_dataparallel"}) {
    CAPTURE(experiment);
    const Run run = whole_job_run(experiment, {});
    const Json trace = Json::parse(trace_json(run));
    CHECK(broken_trace_rules(trace) == std::vector<std::string>{});
    const std::map<int, double> ranks = counted_energies(trace);
    REQUIRE(ranks.size() == static_cast<std::size_t>(run.ranks));
    double sum = 0;
    for (const auto& [process, energy] : ranks) sum += energy;
    CHECK(sum == doctest::Approx(run.energy->per_step.si()).epsilon(1e-9));
  }
  const Run pipeline =
      whole_job_run("bert_large_dgx_a100", {{"parallelism", "{pipeline: 4}"}, {"accumulation", "8"}});
  const Json trace = Json::parse(trace_json(pipeline));
  CHECK(broken_trace_rules(trace) == std::vector<std::string>{});
  const std::map<int, double> stages = counted_energies(trace);
  REQUIRE(stages.size() == 4);
  double sum = 0;
  for (const RankClass& one : pipeline.experiment.classes)
    sum += static_cast<double>(one.ranks.size()) * stages.at(index(one.ranks.front()) + 1);
  CHECK(sum == doctest::Approx(pipeline.energy->per_step.si()).epsilon(1e-9));
}

TEST_CASE("trace.json has no power where the energy is not known") {
  Run run = whole_job_run("resnet50_p3_16xlarge_x2", {});
  CHECK_FALSE(counted_energies(Json::parse(trace_json(run))).empty());
  run.energy = unknown("why");
  CHECK(counted_energies(Json::parse(trace_json(run))).empty());
}
