// Profiles of simulated steps: what their readers need, and the same trace when they are imported again.

#include "exports/kineto_json.hpp"

#include "errors_of.hpp"
#include "exports/rank_step.hpp"
#include "imports/byte_stream.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"
#include "io/gzip.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

/// Without the broadcasts of buffers, which a test of their own has: every kernel is an op of the trace or a
/// reduction.
Run simulated(const std::string& name, Overrides overrides) {
  overrides.emplace_back("stack.broadcast_buffers", "false");
  return simulate(shipped_experiment(name, overrides), {.fidelity = Fidelity::closed});
}

ImportedTrace imported_again(const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.path / "rank_0.json";
  std::ofstream(file) << text;
  const Profile profile = read_kineto(file);
  REQUIRE(profile.rank == 0);
  return trace_of(profile, join_launches(profile));
}

/// ns between an op's duration as it ran and what comes back.
double difference(const OpRow& row, const Op& op) {
  return std::abs((row.end - row.start).si() - op.duration->si()) * 1e9;
}

void check_round_trip(const Run& run) {
  const ImportedTrace back = imported_again(kineto_json(run, Rank{0}, 3));
  CHECK(back.steps == std::vector<int>{1, 2, 3});
  CHECK(back.left_out.empty());
  CHECK(back.warnings.empty());
  const Step& step = step_of(run);
  const std::vector<OpRow>& rows = step.classes.front().ops;
  const Trace& trace = only_class(run.experiment).trace;
  REQUIRE(back.trace.ops.size() == rows.size());
  CHECK(back.trace.batch_per_gpu == trace.batch_per_gpu);
  std::vector<double> gradients;
  std::vector<double> gradients_back;
  std::map<std::string, int> forward;
  for (const Op& op : trace.ops) forward[op.layer] += op.phase == Phase::forward ? 1 : 0;
  int collectives = 0;
  double bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Op& op = back.trace.ops[i];
    CAPTURE(rows[i].layer);
    CHECK(op.phase == rows[i].phase);
    CHECK(op.kind == rows[i].kind);
    CHECK(difference(rows[i], op) <= 1.01);
    if (op.phase == Phase::forward) CHECK(op.layer == rows[i].layer);
    if (op.phase == Phase::backward && forward[rows[i].layer] == 1) CHECK(op.layer == rows[i].layer);
    for (const Gradient& gradient : trace.ops[i].gradients) gradients.push_back(gradient.elements);
    for (const Gradient& gradient : op.gradients) gradients_back.push_back(gradient.elements);
    CHECK(op.gradients.size() == trace.ops[i].gradients.size());
    for (const OpCommunication& one : op.communications) {
      const Collective& sent = step.plan.graph.collectives.at(static_cast<std::size_t>(collectives++));
      CHECK(sent.label.ready_op == static_cast<int>(i));
      CHECK(one.operation == sent.operation);
      CHECK(one.size.si() == sent.size.si());
      CHECK_FALSE(one.waits);
      bytes += one.size.si();
    }
  }
  CHECK(gradients == gradients_back);
  CHECK(static_cast<std::size_t>(collectives) == step.collectives.size());
  CHECK(bytes > 1e8);
  CHECK(std::abs(static_cast<double>(back.parts.period) - step.time.si() * 1e9) <= 1.01);  // whole ns
}

/// Time that is covered by any of the intervals, in ns.
std::int64_t covered(std::vector<std::pair<std::int64_t, std::int64_t>> intervals) {
  std::ranges::sort(intervals);
  std::int64_t sum = 0;
  std::int64_t end = 0;
  for (const auto& [from, to] : intervals) {
    sum += std::max<std::int64_t>(0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return sum;
}

/// The figures of one step as Holistic Trace Analysis defines them.
struct HtaFigures {
  std::int64_t computing = 0, communicating = 0, exposed = 0, busy = 0;
  int kernels = 0, without_launch = 0;
};

HtaFigures hta_figures(const nlohmann::json& profile, int step) {
  const auto ns = [](const nlohmann::json& us) { return std::llround(us.get<double>() * 1000); };
  std::map<long long, long long> launches;
  std::pair<long long, long long> range;
  for (const auto& event : profile["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["cat"] == "cuda_runtime")
      launches[event["args"]["correlation"].get<long long>()] = ns(event["ts"]);
    if (event["name"] == "ProfilerStep#" + std::to_string(step))
      range = {ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])};
  }
  HtaFigures its;
  std::vector<std::pair<std::int64_t, std::int64_t>> computing;
  std::vector<std::pair<std::int64_t, std::int64_t>> communicating;
  for (const auto& event : profile["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] != "kernel") continue;
    const auto launch = launches.find(event["args"]["correlation"].get<long long>());
    if (launch == launches.end() || launch->second > ns(event["ts"])) {
      ++its.without_launch;
      continue;
    }
    if (launch->second < range.first || launch->second >= range.second) continue;
    ++its.kernels;
    const bool is_nccl = event["name"].get<std::string>().starts_with("nccl");
    (is_nccl ? communicating : computing).emplace_back(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]));
  }
  its.computing = covered(computing);
  its.communicating = covered(communicating);
  std::vector<std::pair<std::int64_t, std::int64_t>> all = computing;
  all.insert(all.end(), communicating.begin(), communicating.end());
  its.busy = covered(all);
  its.exposed = its.busy - its.computing;
  return its;
}

}  // namespace

TEST_CASE("a profile of a data-parallel ResNet-50 is imported as the trace it was made of") {
  check_round_trip(simulated("resnet50_dgx2", {{"gpus", "2"}}));
}

TEST_CASE("a profile of a data-parallel BERT is imported as the trace it was made of") {
  check_round_trip(simulated("bert_base_p3dn", {{"nodes", "2"}}));
}

TEST_CASE("broadcasts of buffers and their copies are in a profile, and are imported again") {
  const Run run =
      simulate(shipped_experiment("resnet50_dgx2", {{"gpus", "2"}}), {.fidelity = Fidelity::closed});
  const std::string text = kineto_json(run, Rank{0}, 3);
  const ImportedTrace back = imported_again(text);
  CHECK(back.left_out.empty());
  CHECK(back.warnings.empty());
  const Step& step = step_of(run);
  const std::vector<OpRow>& rows = step.classes.front().ops;
  REQUIRE(back.trace.ops.size() == rows.size() + 4);
  double copies = 0;
  for (const std::size_t i : {0U, 1U, 2U, 3U}) {
    const Op& op = back.trace.ops[i];
    CAPTURE(op.layer);
    CHECK(op.layer.starts_with(i % 2 == 0 ? "flatten" : "unflatten"));
    CHECK(op.phase == Phase::forward);
    copies += op.duration->si();
    REQUIRE(op.communications.size() == (i % 2 == 0 ? 1 : 0));
    if (i % 2 == 1) continue;
    CHECK(op.communications.front().operation == Operation::broadcast);
    CHECK(op.communications.front().size == step.collectives.at(i / 2).size);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(difference(rows[i], back.trace.ops[i + 4]) <= 1.01);
  // In a profile the copies compute; for a step they are a part of communication.
  const HtaFigures its = hta_figures(nlohmann::json::parse(text), 1);
  CHECK(its.kernels == static_cast<int>(rows.size() + step.collectives.size() + 4));
  CHECK(std::abs(static_cast<double>(its.computing) * 1e-9 - copies - compute_time(run).si()) < 10e-9);
  CHECK(std::abs(static_cast<double>(its.busy) * 1e-9 - step.time.si()) < 2e-9);
}

TEST_CASE(
    "kernel, step and exposed times of a profile, as Holistic Trace Analysis counts them, are the result's") {
  const Run run = simulated("resnet50_dgx2", {{"gpus", "2"}});
  const auto profile = nlohmann::json::parse(kineto_json(run, Rank{1}, 2));
  const Step& step = step_of(run);
  for (const int number : {1, 2}) {
    const HtaFigures its = hta_figures(profile, number);
    CHECK(its.without_launch == 0);
    CHECK(its.kernels == static_cast<int>(step.classes.front().ops.size() + step.collectives.size()));
    // Both ends of each kernel are rounded to ns; neighbours share theirs.
    const double rounding = 2;
    const auto ns = [](Seconds time) { return time.si() * 1e9; };
    CHECK(std::abs(static_cast<double>(its.computing) - ns(compute_time(run))) < rounding);
    CHECK(std::abs(static_cast<double>(its.exposed) - ns(exposed_communication(run))) < rounding);
    CHECK(std::abs(static_cast<double>(its.busy) - ns(step.time)) < rounding);
    CHECK(std::abs(static_cast<double>(its.communicating) - ns(communication_time(run))) <
          static_cast<double>(step.collectives.size()) + 1);
  }
}

TEST_CASE(
    "the counter of power has a sample where each kernel starts, and none for rounding errors between them") {
  const Run run = simulated("resnet50_dgx2", {{"gpus", "2"}});
  const auto profile = nlohmann::json::parse(kineto_json(run, Rank{0}, 1));
  std::map<double, double> samples;
  std::vector<double> starts;
  for (const auto& event : profile["traceEvents"]) {
    const auto ts = event["ts"].get<double>();
    if (event["ph"] == "C" && event["name"] == "power")
      samples[ts] = event["args"]["W"];
    else if (event.value("cat", "") == "kernel" && event["tid"] == 7 && event["dur"].get<double>() > 0)
      starts.push_back(ts);
  }
  const auto power_at = [&](double ts) { return std::prev(samples.upper_bound(ts))->second; };
  const double waiting = std::ranges::min(samples | std::views::values);
  REQUIRE(starts.size() > 300);
  for (const double start : starts) CHECK(power_at(start) > waiting);
}

TEST_CASE("a profile has what its readers look for") {
  const Run run = simulated("resnet50_dgx2", {{"gpus", "2"}, {"precision", "amp"}});
  const std::string text = kineto_json(run, Rank{1}, 2);
  // line by line, with a blank: HTA's pattern is "rank":\s+(\d+)
  CHECK(text.find("\n\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 1, \"world_size\": 2},\n") !=
        std::string::npos);
  const auto profile = nlohmann::json::parse(text);
  CHECK(profile["schemaVersion"] == 1);
  CHECK(profile["deviceProperties"][0]["computeMajor"] == 7);
  CHECK(profile["trainyard"]["simulated"] == true);
  std::map<std::string, int> counts;
  double energy = 0;
  double power = 0;
  double since = -1;
  int link_counts = 0;
  for (const auto& event : profile["traceEvents"]) {
    if (event["ph"] == "C" && event["name"] != "power") {
      CHECK(event["name"] == "node links: nvlink2");
      CHECK(event["args"]["B/s"].get<double>() >= 0);
      ++link_counts;
      continue;
    }
    if (event["ph"] == "C") {
      const double now = event["ts"].get<double>();
      if (since >= 0 && energy >= 0) energy += power * (now - since) * 1e-6;
      power = event["args"]["W"].get<double>();
      since = now;
      continue;
    }
    if (event["ph"] != "X") continue;
    ++counts[event["cat"].get<std::string>()];
    CHECK(event["ts"].get<double>() >= 0);
    if (event["cat"] != "kernel") continue;
    CHECK(event["pid"] == 1);
    CHECK(event["tid"] == event["args"]["stream"]);
    const auto name = event["name"].get<std::string>();
    if (!name.starts_with("nccl")) continue;
    CHECK(name.starts_with("ncclDevKernel_AllReduce_Sum_f32_"));
    CHECK(event["args"]["Collective name"] == "allreduce");
    CHECK(event["args"]["In msg nelems"] == event["args"]["Out msg nelems"]);
    CHECK(event["args"]["dtype"] == "Float");
    CHECK(event["args"]["Group size"] == 2);
    CHECK(event["args"]["Process Group Ranks"] == "[0, 1]");
  }
  CHECK(counts["kernel"] == counts["cuda_runtime"]);
  CHECK(counts["cpu_op"] > counts["kernel"]);
  CHECK(energy > 0);
  CHECK(link_counts >= 4);
}

TEST_CASE("every range of a profile's host lies in one around it or beside it") {
  const Run run = simulated("bert_base_p3dn", {{"gpus", "2"}});
  const auto profile = nlohmann::json::parse(kineto_json(run, Rank{0}, 2));
  std::map<int, std::vector<std::pair<long long, long long>>> threads;
  for (const auto& event : profile["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] == "kernel") continue;
    const long long start = std::llround(event["ts"].get<double>() * 1000);
    threads[event["tid"].get<int>()].emplace_back(start,
                                                  start + std::llround(event["dur"].get<double>() * 1000));
  }
  CHECK(threads.size() == 2);
  for (auto& [thread, ranges] : threads) {
    std::ranges::sort(ranges, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<long long> ends;
    bool nests = true;
    for (const auto& [start, end] : ranges) {
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      nests = nests && (ends.empty() || end <= ends.back());
      ends.push_back(end);
    }
    CHECK(nests);
  }
}

TEST_CASE("a rank of a job that shares its model has the kernels of every pass, and its groups") {
  const Run run = simulated("gpt2_small_dgx2", {{"gpus", "8"},
                                                {"parallelism.tensor", "2"},
                                                {"parallelism.pipeline", "2"},
                                                {"accumulation", "4"},
                                                {"batch_per_gpu", "1"}});
  const Step& step = step_of(run);
  REQUIRE(step.classes.size() == 2);
  for (const ClassStep& one : step.classes) {
    const auto profile = nlohmann::json::parse(kineto_json(run, one.first, 2));
    const HtaFigures its = hta_figures(profile, 1);
    CHECK(its.without_launch == 0);
    int ops = 0;
    for (const OpRow& row : one.ops) ops += row.runs;
    CHECK(its.kernels > ops);  // and collectives
    CHECK(std::abs(static_cast<double>(its.computing) - one.compute.si() * 1e9) < 2.0 * its.kernels);
    CHECK(static_cast<double>(its.busy) <= step.time.si() * 1e9 + 1);
    std::map<std::string, std::string> groups;
    for (const auto& event : profile["traceEvents"]) {
      if (event["ph"] == "X" && event["cat"] == "kernel" && event["args"].contains("Collective name"))
        groups[event["args"]["Process Group Description"]] = event["args"]["Process Group Ranks"];
    }
    CHECK(groups["tensor"] == (one.first == Rank{0} ? "[0, 1]" : "[4, 5]"));
    CHECK(groups["pipeline"] == "[0, 4]");
  }
}

TEST_CASE("a profile of a run without one step is refused, and of a rank that is not there") {
  const Diagnostic refused = only_error(
      [&] { require_steady_step(shipped_experiment("inception_v3_dgx1_p100_server"), "a profile"); });
  CHECK(refused.message.find("updates differ") != std::string::npos);
  const Run run = simulated("resnet50_dgx2", {{"gpus", "2"}});
  const Diagnostic missing = only_error([&] { kineto_json(run, Rank{2}, 2); });
  CHECK(missing.message.find("no rank 2") != std::string::npos);
}

TEST_CASE("compressed text is the same when it is read") {
  const std::string text = kineto_json(simulated("resnet50_dgx2", {{"gpus", "2"}}), Rank{0}, 2);
  const std::string compressed = compressed_by_gzip(text);
  CHECK(compressed.size() < text.size() / 10);
  CHECK(compressed == compressed_by_gzip(text));
  const TemporaryFolder folder;
  std::ofstream(folder.path / "rank_0.json.gz", std::ios::binary) << compressed;
  ByteStream stream(folder.path / "rank_0.json.gz");
  std::string back(text.size() + 1, '\0');
  back.resize(stream.read(back));
  CHECK(back == text);
}
