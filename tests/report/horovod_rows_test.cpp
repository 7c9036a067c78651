#include "report/horovod_rows.hpp"

#include "report/trace_json.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "trace_rules.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <vector>

using namespace trainyard;

namespace {

Run run_of(const char* experiment, const Overrides& set) {
  return simulate(testing::shipped_experiment(experiment, set), {});
}

std::vector<HorovodRow> rows_of(const Run& run) { return horovod_rows(run, tracks(run).front()); }

/// Time in a state, over all collectives.
std::map<std::string_view, double> seconds_by_state(const std::vector<HorovodRow>& rows) {
  std::map<std::string_view, double> seconds;
  for (const HorovodRow& row : rows) seconds[row.state] += (row.end - row.start).si();
  return seconds;
}

}  // namespace

TEST_CASE("a rank's all-reduces have the states of Horovod's timeline") {
  for (const auto& [experiment, set, sent] :
       {std::tuple{"nt3_theta", Overrides{{"nodes", "4"}}, "MPI_ALLREDUCE"},
        std::tuple{"resnet50_dgx2", Overrides{{"stack", "horovod_0_20"}}, "NCCL_ALLREDUCE"}}) {
    CAPTURE(experiment);
    const Run run = run_of(experiment, set);
    const std::vector<HorovodRow> rows = rows_of(run);
    auto seconds = seconds_by_state(rows);
    double communication = 0;
    for (const CollectiveRow& row : step_of(run).collectives) communication += (row.end - row.start).si();
    CHECK(seconds[sent] == doctest::Approx(communication).epsilon(1e-9));
    CHECK(seconds["NEGOTIATE_ALLREDUCE"] > 0);
    double parts = seconds["QUEUE"] + seconds[sent];
    for (const char* copy : {"MEMCPY_IN_FUSION_BUFFER", "MEMCPY_OUT_FUSION_BUFFER"}) {
      CHECK(seconds[copy] > 0);
      parts += seconds[copy];
    }
    CHECK(seconds["ALLREDUCE"] == doctest::Approx(parts).epsilon(1e-9));
    const auto trace = nlohmann::json::parse(trace_json(run));
    CHECK(broken_trace_rules(trace).empty());
    CHECK(std::ranges::any_of(trace.at("traceEvents"), [](const auto& event) {
      return event.value("cat", "") == "horovod" && event.at("name") == "NEGOTIATE_ALLREDUCE";
    }));
  }
}

TEST_CASE("with MPI what waits for an earlier all-reduce is still negotiated, with NCCL it is queued") {
  const Overrides slow{{"nodes", "4"}, {"stack.compute_scale", "0.1"}};
  CHECK_FALSE(seconds_by_state(rows_of(run_of("nt3_theta", slow))).contains("QUEUE"));
  const Overrides busy{
      {"stack", "horovod_0_20"}, {"stack.fusion.threshold", "1 MB"}, {"stack.fusion.cycle_time", "0 s"}};
  CHECK(seconds_by_state(rows_of(run_of("resnet50_dgx2", busy))).contains("QUEUE"));
}

TEST_CASE("a stack without fusion has no states of Horovod") {
  CHECK(rows_of(run_of("resnet50_dgx2", {})).empty());
}
