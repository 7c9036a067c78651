#include "explain/critical_path.hpp"

#include "explain/explain_step.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "shipped_layout.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

/// A collective of so many ranks that takes a given time.
Collective lasting(double seconds, int ranks) {
  return {.operation = Operation::all_reduce,
          .size = Bytes{1},
          .participants = ranks,
          .overhead = Seconds{seconds},
          .phases = {}};
}

Compute kernel(double seconds) { return {.duration = Seconds{seconds}}; }

std::vector<PathPiece> path_of(const TaskGraph& graph) {
  return critical_path(
      graph, run(graph, {.fidelity = Fidelity::closed, .recorded = ranks_on_paths(graph, Fidelity::closed)}));
}

/// "0c0 0n1": rank, stream (c, n of the network, h of the host) and task of each piece.
std::string written(const std::vector<PathPiece>& path) {
  std::string text;
  for (const PathPiece& piece : path) {
    text += (text.empty() ? "" : " ") + std::to_string(index(piece.rank)) +
            "cnh"[static_cast<int>(piece.stream)] + std::to_string(piece.task);
  }
  return text;
}

/// Its pieces follow each other from 0 to the end.
bool is_whole(const std::vector<PathPiece>& path, double end) {
  Seconds now;
  for (const PathPiece& piece : path) {
    if (piece.start != now || piece.end <= piece.start) return false;
    now = piece.end;
  }
  return now.si() == doctest::Approx(end).epsilon(1e-12);
}

/// Two kernels of backward, a bucket behind each, and the optimizer behind both buckets, as DDP.
Program overlapped(double first, double second, double optimizer) {
  Program program;
  program.events = 3;
  program.streams[0] = {kernel(first), Record{0}, kernel(second), Record{1}, Wait{2}, kernel(optimizer)};
  program.streams[1] = {Wait{0}, Join{0}, Wait{1}, Join{1}, Record{2}};
  return program;
}

TaskGraph one_program(Program program, std::vector<double> collectives) {
  TaskGraph graph;
  graph.programs = {std::move(program)};
  graph.program_of_rank = {0, 0};
  for (const double seconds : collectives) graph.collectives.push_back(lasting(seconds, 2));
  return graph;
}

}  // namespace

TEST_CASE("what backward hides is not on the path, the last bucket is") {
  const auto path = path_of(one_program(overlapped(1, 4, 0.5), {2, 3}));
  CHECK(written(path) == "0c0 0c2 0n3 0c5");
  CHECK(is_whole(path, 8.5));
}

TEST_CASE("buckets that queue behind each other hold the step up from the first on") {
  const auto path = path_of(one_program(overlapped(1, 4, 0.5), {10, 3}));
  CHECK(written(path) == "0c0 0n1 0n3 0c5");
  CHECK(is_whole(path, 14.5));
}

TEST_CASE("of two that end together the path takes the stream's own") {
  CHECK(written(path_of(one_program(overlapped(1, 4, 0.5), {4, 3}))) == "0c0 0n1 0n3 0c5");
}

TEST_CASE("without overlap everything follows everything") {
  Program program;
  program.events = 2;
  program.streams[0] = {kernel(1), kernel(2), Record{0}, Wait{1}, kernel(0.5)};
  program.streams[1] = {Wait{0}, Join{0}, Join{1}, Record{1}};
  const auto path = path_of(one_program(program, {3, 4}));
  CHECK(written(path) == "0c0 0c1 0n1 0n2 0c4");
  CHECK(is_whole(path, 10.5));
}

TEST_CASE("what the host does before a collective is on the path") {
  Program program;
  program.events = 3;
  program.streams[0] = {kernel(1), Record{0}, Wait{2}, kernel(0.5)};
  program.streams[1] = {Wait{1}, kernel(0.25), Join{0}, Record{2}};
  program.streams[2] = {Wait{0}, kernel(2), Record{1}};
  const auto path = path_of(one_program(program, {3}));
  CHECK(written(path) == "0c0 0h1 0n1 0n2 0c3");
  CHECK(is_whole(path, 6.75));
}

TEST_CASE("the path goes over to the rank that comes last, and back where another is late") {
  // rank 1 computes longer before the first collective, rank 0 before the second
  TaskGraph graph;
  for (const auto& [first, second] : {std::pair(1.0, 5.0), std::pair(4.0, 1.0)}) {
    Program& program = graph.programs.emplace_back();
    program.events = 3;
    program.streams[0] = {kernel(first), Record{0}, Wait{1}, kernel(second), Record{2}};
    program.streams[1] = {Wait{0}, Join{0}, Record{1}, Wait{2}, Join{1}};
  }
  graph.program_of_rank = {0, 1};
  graph.collectives = {lasting(2, 2), lasting(3, 2)};
  const auto path = path_of(graph);
  CHECK(written(path) == "1c0 0n1 0c3 0n4");
  CHECK(is_whole(path, 4 + 2 + 5 + 3));
  CHECK(path[1].start == Seconds{4});
}

TEST_CASE("a rank that waits is on no path, and one alone has its kernels as path") {
  TaskGraph graph = one_program({}, {});
  graph.program_of_rank = {0};
  graph.programs[0].streams[0] = {kernel(1), kernel(0), kernel(2)};
  const auto path = path_of(graph);
  CHECK(written(path) == "0c0 0c2");  // what takes no time holds nobody up
  CHECK(is_whole(path, 3));
  graph.programs[0].streams[0].clear();
  CHECK(path_of(graph).empty());
}

TEST_CASE("ranks of a program stand for each other but where every message is simulated") {
  TaskGraph graph = one_program(overlapped(1, 4, 0.5), {2, 3});
  graph.programs.emplace_back();  // of ranks that have nothing to do
  graph.program_of_rank = {1, 0, 0};
  CHECK(ranks_on_paths(graph, Fidelity::flow) == std::vector{Rank{1}});
  CHECK(ranks_on_paths(graph, Fidelity::messages) == std::vector{Rank{1}, Rank{2}});
}

TEST_CASE("the walk says where spans are missing") {
  const TaskGraph graph = one_program(overlapped(1, 4, 0.5), {2, 3});
  Timeline timeline = run(graph, {.fidelity = Fidelity::closed, .recorded = {Rank{0}}});
  std::erase_if(timeline.spans, [](const TaskSpan& span) { return span.start == Seconds{}; });
  CHECK_THROWS_AS(critical_path(graph, timeline), EngineError);
}

TEST_CASE("of every shipped experiment the path and the parts add up to the step time") {
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const std::vector<std::string> names = config::names(catalogue, config::Kind::experiment);
  const auto checked = [&](int i) {
    const ResolvedExperiment resolved = testing::shipped_experiment(names[static_cast<std::size_t>(i)]);
    if (is_multi_update(resolved.settings)) return packed({0});
    const auto [run, explanation] = simulate_and_explain(resolved);
    const Explanation& why = explanation.value();
    Seconds path;
    double gaps = 0;
    double collectives = 0;
    for (const PathSegment& segment : why.path) {
      // Of ranks that share a model the path is summed by stage.
      if (!run.experiment.layout) gaps = std::max(gaps, std::abs((segment.start - path).si()));
      path += segment.length;
      collectives += is_communication(segment.kind) ? 1 : 0;
    }
    Seconds parts;
    Seconds bound;
    for (const GapTime& gap : why.gap) {
      parts += gap.time;
      if (gap.part < first_above_bound) bound += gap.time;
    }
    const double step = run.pace.time.si();
    return packed({1, path.si() / step - 1, parts.si() / step - 1, bound / step_of(run).lower_bound - 1,
                   gaps / step, compute_time(run).si() / step,
                   collectives - static_cast<double>(why.paces.size())});
  };
  const auto answers = in_children(static_cast<int>(names.size()), 2, checked);
  int steps = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    const std::vector<double> numbers = unpacked(answers[i]);
    if (numbers[0] == 0) continue;
    ++steps;
    for (std::size_t k = 1; k <= 4; ++k) CHECK(std::abs(numbers[k]) < 1e-9);
    CHECK(numbers[5] < 1 + 1e-9);  // no shorter than rank 0's kernels
    CHECK(numbers[6] == 0);
  }
  CHECK(steps > 15);
}

TEST_CASE("copies next to collectives of units are on the path, which adds up to the step") {
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const auto copies_of = [](const std::string& stack, const std::string& buffers) {
    const auto [run, explanation] = simulate_and_explain(testing::small_decoder(
        "dgx_a100", 1,
        {{"stack", stack}, {"parallelism.shard", "parameters"}, {"stack.units.buffers", buffers}}));
    Seconds path;
    Seconds copies;
    for (const PathSegment& segment : explanation->path) {
      path += segment.length;
      if (segment.kind == PathKind::framework) copies += segment.length;
    }
    CHECK(path / run.pace.time == doctest::Approx(1).epsilon(1e-9));
    return copies;
  };
  for (const std::string stack : {"pytorch_fsdp", "torchtitan", "deepspeed"}) {
    CAPTURE(stack);
    CHECK(copies_of(stack, "tensors") > copies_of(stack, "none"));
  }
}

TEST_CASE("the wait for samples is on the path of replicas that divide layers, too") {
  const auto checked = [](int i) {
    const Overrides overrides{
        {"nodes", "2"}, {"input.data", "real"}, {"input.prefetch", i == 0 ? "false" : "true"}};
    const auto [run, explanation] =
        simulate_and_explain(testing::shipped_experiment("wide_deep_tianshu", overrides));
    Seconds path;
    for (const PathSegment& segment : explanation->path) path += segment.length;
    const bool has_input = explanation->path.front().kind == PathKind::input;
    return packed({path / run.pace.time - 1, has_input ? 1.0 : 0.0});
  };
  const auto answers = in_children(2, 2, checked);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::vector<double> numbers = unpacked(answers[i]);
    CHECK(std::abs(numbers[0]) < 1e-9);
    CHECK(numbers[1] == (i == 0 ? 1 : 0));  // with prefetching the step is longer than its samples take
  }
}

TEST_CASE("segments stay what they are in every fidelity and with every algorithm") {
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const std::vector<std::pair<std::string, std::string>> settings{
      {"fidelity", "steps"},
      {"fidelity", "rounds"},
      {"sync.algorithm", "hierarchical"},
      {"sync.algorithm", "torus2d"},
      {"sync.algorithm", "tree"},
      {"accumulation", "3"},
      {"stack.overlap", "false"},
      {"stack", "horovod"},
      {"sync.kind", "peer_to_peer"},
      {"stack.overlap_slows", "false"},
      {"background", "[{from: node0, to: node1, rate: 2 GB/s}]"}};
  const auto checked = [&](int i) {
    const Overrides overrides{settings[static_cast<std::size_t>(i)]};
    const auto [run, explanation] =
        simulate_and_explain(testing::shipped_experiment("resnet50_p3_16xlarge_x2", overrides));
    Seconds path;
    Seconds slowed;
    for (const PathSegment& segment : explanation->path) {
      path += segment.length;
      slowed += segment.slowed;
    }
    return packed(
        {path / run.pace.time - 1, slowed.si(), static_cast<double>(explanation->path.back().kind)});
  };
  const auto answers = in_children(static_cast<int>(settings.size()), 2, checked);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    CAPTURE(settings[i].first);
    CAPTURE(settings[i].second);
    const std::vector<double> numbers = unpacked(answers[i]);
    CHECK(std::abs(numbers[0]) < 1e-9);
    CHECK((settings[i].first != "stack.overlap_slows" || numbers[1] == 0));
    CHECK(static_cast<PathKind>(static_cast<int>(numbers[2])) == PathKind::optimizer);
  }
}
