#include "strategy/layer_copies.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr DividingRanks eight{.count = 8};

Op op_of(Phase phase, LaunchTime at, Axis axis, Operation operation = Operation::all_to_all) {
  Op op;
  op.phase = phase;
  op.layer = "tables";
  op.of_layer = 3;
  op.kind = OpKind::embedding;
  op.communications = {{.operation = operation, .size = Bytes(8), .axis = axis, .at = at, .waits = 0}};
  return op;
}

Stack with_copies() {
  Stack stack;
  stack.layer_copies = {.value = Seconds(1e-6), .provenance = Provenance::measured, .source = {}};
  return stack;
}

}  // namespace

TEST_CASE("a node copies each part of its ranks to each other one, and through host memory to other nodes") {
  CHECK(copies_of_all_to_all(8, 8) == 56);
  CHECK(copies_of_all_to_all(2, 8) == 4 * 2);               // four groups of two in a node
  CHECK(copies_of_all_to_all(32, 8) == 56 + 3 * (64 + 8));  // three other nodes
  CHECK(copies_of_all_to_all(4, 1) == 3 * 2);            // one rank per node: into host memory, and out of it
  CHECK(copies_of_all_to_all(12, 8) == 56 + 8 * 4 + 8);  // the second node holds only four ranks
}

TEST_CASE("a node copies near parts once, those of other nodes when they leave and when they arrive") {
  CHECK(copied_by_all_to_all(Bytes(800), 8, 8).si() == 56 * 100);
  CHECK(copied_by_all_to_all(Bytes(3200), 32, 8).si() == (56 + 3 * 2 * 64) * 100);
  CHECK(copied_by_all_to_all(Bytes(1200), 12, 8).si() == (56 + 2 * 8 * 4) * 100);
}

TEST_CASE(
    "in one node copies take the place of an all-to-all: their starts and their bytes, one after the other") {
  Trace trace;
  trace.ops = {op_of(Phase::forward, LaunchTime::end, Axis::data),
               op_of(Phase::backward, LaunchTime::start, Axis::data)};
  add_layer_copies(trace, with_copies(), eight, 8, Bandwidth(1e6));
  REQUIRE(trace.ops.size() == 4);
  for (const std::size_t place : {1, 2}) {
    CHECK(trace.ops[place].kind == OpKind::host);
    CHECK(trace.ops[place].layer == "tables.copies");
    CHECK(trace.ops[place].of_layer == 3);
    CHECK(trace.ops[place].source == ComputeSource::roofline);
    CHECK(trace.ops[place].duration->si() == doctest::Approx(56e-6 + 56e-6));  // 56 copies of a byte each
  }
  CHECK(trace.ops[1].phase == Phase::forward);
  CHECK(trace.ops[2].phase == Phase::backward);
  for (const Op& op : trace.ops) CHECK(op.communications.empty());
  CHECK_FALSE(trace.ops[0].duration.has_value());
}

TEST_CASE("over several nodes the all-to-all follows the copies") {
  Trace trace;
  trace.ops = {op_of(Phase::forward, LaunchTime::end, Axis::data),
               op_of(Phase::backward, LaunchTime::start, Axis::data)};
  add_layer_copies(trace, with_copies(), eight, 4, Bandwidth(1e6));
  REQUIRE(trace.ops.size() == 4);
  CHECK(trace.ops[0].communications.empty());
  CHECK(trace.ops[1].communications.size() == 1);  // at its end
  CHECK(trace.ops[2].communications.empty());
  CHECK(trace.ops[3].communications.size() == 1);  // at the start of the op behind
}

TEST_CASE("other collectives, groups and stacks start no copies") {
  Trace trace;
  trace.ops = {op_of(Phase::forward, LaunchTime::end, Axis::data, Operation::reduce_scatter),
               op_of(Phase::forward, LaunchTime::end, Axis::expert)};
  const Trace before = trace;
  add_layer_copies(trace, with_copies(), eight, 8, Bandwidth(1e6));
  CHECK(trace == before);
  trace.ops = {op_of(Phase::forward, LaunchTime::end, Axis::data)};
  const Trace one = trace;
  add_layer_copies(trace, Stack{}, eight, 8, Bandwidth(1e6));
  CHECK(trace == one);
  add_layer_copies(trace, with_copies(), {.count = 1}, 8, Bandwidth(1e6));
  CHECK(trace == one);
}
