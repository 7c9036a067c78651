// The count of a simulation's events against those that it takes.
#include "engine/expected_events.hpp"

#include "collectives/algorithms.hpp"
#include "engine/child.hpp"
#include "engine/flat_network.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// All ranks meet `times` times in the same collective.
TaskGraph graph_with(const Cluster& cluster, Operation operation, Algorithm algorithm, int times) {
  Program program;
  program.streams[0].assign(at(times), Join{0});
  TaskGraph graph = graph_of(cluster.ranks(), program, {});
  graph.links = link_capacities(cluster);
  Planner planner(cluster, {},
                  {.operation = operation, .groups = {all_ranks(cluster)}, .algorithm = algorithm});
  graph.collectives = {planner.collective(Bytes(8e6), graph.patterns)};
  return graph;
}

}  // namespace

TEST_CASE("the messages and rounds that are expected are those that are simulated, within a factor of 3") {
  const Cluster cluster = even_cluster(4, 4);
  for (const auto operation : {Operation::all_reduce, Operation::all_to_all, Operation::broadcast}) {
    for (const auto algorithm : {Algorithm::ring, Algorithm::tree}) {
      if (operation == Operation::all_to_all && algorithm != Algorithm::ring) continue;
      const bool is_direct = operation == Operation::all_to_all;
      const TaskGraph graph = graph_with(cluster, operation, is_direct ? Algorithm::direct : algorithm, 3);
      for (const Fidelity fidelity : {Fidelity::rounds, Fidelity::messages}) {
        CAPTURE(config::name_of(operation));
        CAPTURE(config::name_of(algorithm));
        CAPTURE(config::name_of(fidelity));
        const double expected = engine::expected_events(graph, fidelity);
        const auto events =
            static_cast<double>(run_in_child(graph, {.fidelity = fidelity, .recorded = {}}).events);
        CHECK(expected > events / 3);
        CHECK(expected < events * 3);
      }
    }
  }
}

TEST_CASE(
    "a segment that nothing disturbs is no work, however often it runs, unless messages are simulated") {
  TaskGraph graph = graph_with(even_cluster(2, 4), Operation::all_reduce, Algorithm::ring, 1);
  Segment& segment = graph.segments.emplace_back();
  segment.program = graph.programs.front();
  for (std::vector<Task>& stream : graph.programs.front().streams) stream.clear();
  for (int i = 0; i < 100; ++i)
    graph.programs.front().of(Stream::compute).push_back(RunSegment{.segment = 0});
  const double replayed = engine::expected_events(graph, Fidelity::flow);
  const double messages = engine::expected_events(graph, Fidelity::messages);
  CHECK(replayed >= 100);
  segment.is_undisturbed = true;
  CHECK(engine::expected_events(graph, Fidelity::flow) == 0);
  CHECK(engine::expected_events(graph, Fidelity::messages) == messages);
}

TEST_CASE("closed forms are no work, and more ranks are more messages") {
  const TaskGraph few = graph_with(even_cluster(2, 4), Operation::all_reduce, Algorithm::ring, 1);
  const TaskGraph many = graph_with(even_cluster(8, 4), Operation::all_reduce, Algorithm::ring, 1);
  CHECK(engine::expected_events(many, Fidelity::closed) == 0);
  CHECK(engine::expected_events(many, Fidelity::messages) >
        10 * engine::expected_events(few, Fidelity::messages));
  CHECK(engine::expected_events(many, Fidelity::flow) <= engine::expected_events(many, Fidelity::rounds));
}
