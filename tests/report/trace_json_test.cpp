#include "report/trace_json.hpp"

#include "sample.hpp"
#include "trace_rules.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("the trace keeps the rules of the trace event format") {
  CHECK(broken_trace_rules(Json::parse(trace_json(sample_result()))) == std::vector<std::string>{});
}

TEST_CASE("every rank is a process with a track per stream") {
  const Json trace = Json::parse(trace_json(sample_result()));
  std::map<std::string, int> names;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["args"].contains("name"))
      ++names[event["args"]["name"].get<std::string>()];
  }
  CHECK(names == std::map<std::string, int>{{"rank 0 (node 0, gpu0)", 1},
                                            {"rank 1 (node 0, gpu1)", 1},
                                            {"compute", 2},
                                            {"communication", 2}});
}

TEST_CASE("a rank's events are the ops of its own class") {
  const Json trace = Json::parse(trace_json(two_class_result()));
  CHECK(broken_trace_rules(trace) == std::vector<std::string>{});
  std::map<int, std::set<std::string>> names;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") names[event["pid"].get<int>()].insert(event["name"].get<std::string>());
  }
  CHECK(names[1].contains("fc backward"));
  CHECK_FALSE(names[1].contains("fc2 backward"));
  CHECK(names[2].contains("fc2 backward"));
  CHECK_FALSE(names[2].contains("fc backward"));
}

TEST_CASE("an op's event says what it did, in exact microseconds") {
  const Json trace = Json::parse(trace_json(sample_result()));
  const auto event =
      std::find_if(trace["traceEvents"].begin(), trace["traceEvents"].end(), [](const Json& e) {
        return e["ph"] == "X" && e["name"] == "conv1 wgrad" && e["cat"] == "backward" && e["pid"] == 2;
      });
  REQUIRE(event != trace["traceEvents"].end());
  CHECK((*event)["ts"] == 8000.0);
  CHECK((*event)["dur"] == 2000.0);
  CHECK((*event)["tid"] == 1001);
  CHECK((*event)["args"] == Json{{"kind", "conv_wgrad"},
                                 {"shape", "n64"},
                                 {"flops", 1e9},
                                 {"bytes", 2e6},
                                 {"parameter_bytes", 4e3},
                                 {"source", "measured"}});
}

TEST_CASE("every event that stands beside another of its layer has a name of its own") {
  const Json trace = Json::parse(trace_json(sample_result()));
  std::set<std::string> names;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] != "phase") names.insert(event["name"].get<std::string>());
  }
  CHECK(names.contains("conv1"));
  CHECK(names.contains("conv1 wgrad"));
  CHECK(names.contains("fc backward"));
  CHECK(names.contains("all_reduce 100 MB (bucket 0)"));
}

TEST_CASE("an arrow leads from the op that completed the bucket to its collective, on each rank") {
  const Json trace = Json::parse(trace_json(sample_result()));
  std::map<std::pair<int, std::string>, Json> flows;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "s" || event["ph"] == "f")
      flows[{event["pid"].get<int>(), event["ph"].get<std::string>()}] = event;
  }
  REQUIRE(flows.size() == 4);
  for (const int process : {1, 2}) {
    const Json& from = flows[{process, "s"}];
    const Json& to = flows[{process, "f"}];
    CHECK(from["id"] == to["id"]);
    CHECK(from["ts"] == 7999.999);  // the last nanosecond of fc's backward op
    CHECK(to["ts"] == 8000.0);
    CHECK(from["tid"] == 1001);
    CHECK(to["tid"] == 1002);
  }
  CHECK(flows[{1, "s"}]["id"] != flows[{2, "s"}]["id"]);
}

TEST_CASE("ops that follow each other without a gap do not overlap after rounding") {
  Run run = sample_result();
  step_in(run).classes.front().ops.clear();
  step_in(run).bars.clear();
  Seconds now;
  for (int i = 0; i < 500; ++i) {
    OpRow row = slowest_class(step_of(sample_result())).ops[0];
    row.start = now;
    now += Seconds(1e-3 / 7 + 1e-10 * i);
    row.end = now;
    step_in(run).classes.front().ops.push_back(row);
    step_in(run).bars.push_back({.category = "forward", .start = row.start, .end = row.end, .op = i});
  }
  CHECK(broken_trace_rules(Json::parse(trace_json(run))) == std::vector<std::string>{});
}

TEST_CASE("the rules' checker sees an overlap") {
  Run run = sample_result();
  step_in(run).bars[1].start = Seconds(0.003);
  CHECK_FALSE(broken_trace_rules(Json::parse(trace_json(run))).empty());
}
