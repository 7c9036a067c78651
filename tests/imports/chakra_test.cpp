// Execution traces of Chakra, made byte by byte.

#include "errors_of.hpp"
#include "imports/chakra_trace.hpp"
#include "imports/checked_trace.hpp"
#include "imports/wire_bytes.hpp"
#include "imports/wire_format.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <initializer_list>
#include <rapidcheck.h>
#include <string>
#include <string_view>
#include <vector>

using namespace trainyard;
using testing::varint_bytes;
using testing::wire_number;
using testing::wire_text;

namespace {

std::string wire_message(const std::string& fields) { return varint_bytes(fields.size()) + fields; }

std::string wire_attribute(std::string_view name, unsigned field, std::uint64_t value) {
  return wire_text(10, wire_text(1, name) + wire_number(field, value));
}

/// A node without its attributes; proto3 leaves out an id of 0.
std::string chakra_node(std::uint64_t id, std::string_view name, int type, std::uint64_t duration_us,
                        std::initializer_list<std::uint64_t> data_deps = {},
                        std::initializer_list<std::uint64_t> ctrl_deps = {}) {
  std::string fields = id == 0 ? std::string() : wire_number(1, id);
  fields += wire_text(2, name) + wire_number(3, static_cast<std::uint64_t>(type));
  for (const std::uint64_t parent : ctrl_deps) fields += wire_number(4, parent);  // not packed
  std::string packed;
  for (const std::uint64_t parent : data_deps) packed += varint_bytes(parent);
  if (!packed.empty()) fields += wire_text(5, packed);
  return fields + wire_number(7, duration_us);
}

std::string chakra_collective(std::uint64_t id, std::uint64_t type, std::uint64_t size,
                              std::initializer_list<std::uint64_t> data_deps) {
  return chakra_node(id, "collective", 7, 0, data_deps) + wire_attribute("comm_type", 9, type) +
         wire_attribute("comm_size", 9, size);
}

std::string chakra_all_reduce(std::uint64_t id, std::uint64_t size,
                              std::initializer_list<std::uint64_t> data_deps) {
  return chakra_collective(id, 0, size, data_deps);
}

std::string chakra_file(std::initializer_list<std::string> messages) {
  std::string bytes;
  for (const std::string& one : messages) bytes += wire_message(one);
  return bytes;
}

ChakraGraph chakra_graph(const std::string& bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "step.0.et", std::ios::binary) << bytes;
  return read_chakra(folder.path / "step.0.et");
}

const std::string chakra_metadata = wire_text(1, "0.0.4");

}  // namespace

TEST_CASE("an execution trace is read with and without metadata, and id 0 is left out") {
  for (const bool has_metadata : {true, false}) {
    const std::string node =
        wire_message(chakra_node(0, "matmul", 4, 12) + wire_attribute("num_ops", 9, 5000));
    const ChakraGraph graph = chakra_graph((has_metadata ? wire_message(chakra_metadata) : "") + node);
    CHECK(graph.schema == (has_metadata ? "0.0.4" : ""));
    REQUIRE(graph.nodes.size() == 1);
    CHECK(graph.nodes.front().id == 0);
    CHECK(graph.nodes.front().name == "matmul");
    CHECK(graph.nodes.front().duration_us == 12);
    CHECK(graph.nodes.front().num_ops == 5000);
  }
}

TEST_CASE("nodes become ops in the order of what they depend on, with collectives behind them") {
  const ChakraImport its = trace_of(chakra_graph(
      chakra_file({chakra_metadata,
                   chakra_node(5, "sgd", 4, 3, {4, 3}) +
                       wire_text(10, wire_text(1, "phase") + wire_text(29, "optimizer")),
                   chakra_all_reduce(4, 4096, {2}), chakra_node(3, "fc1_BWD_WG", 4, 7, {2}),
                   chakra_node(2, "fc2_BWD_IG", 4, 11, {1}, {9, 9}), chakra_node(1, "fc1_FWD", 4, 5)})));
  REQUIRE(its.trace.ops.size() == 4);
  const std::vector<std::string> layers{"fc1_FWD", "fc2_BWD_IG", "fc1_BWD_WG", "sgd"};
  for (std::size_t i = 0; i < layers.size(); ++i) CHECK(its.trace.ops[i].layer == layers[i]);
  CHECK(its.trace.ops[0].phase == Phase::forward);
  CHECK(its.trace.ops[1].phase == Phase::backward);
  CHECK(its.trace.ops[3].phase == Phase::optimizer);
  CHECK(its.trace.ops[1].duration->si() == doctest::Approx(11e-6));
  CHECK(its.collectives == 1);
  CHECK(its.collective_bytes.si() == 4096);
  CHECK(its.dangling_parents == 1);
  CHECK(its.control_edges == 2);
  CHECK(its.data_edges == 5);
  REQUIRE(its.warnings.size() == 1);
}

TEST_CASE(
    "of a trace with nodes of host and GPU those of the GPU are taken, in the passes that launched them") {
  const auto on = [](bool host) { return wire_attribute("is_cpu_op", 27, host ? 1 : 0); };
  const ChakraImport its =
      trace_of(chakra_graph(chakra_file({chakra_node(1, "aten::mm", 4, 20) + on(true),
                                         chakra_node(2, "volta_sgemm", 4, 9, {1}, {1}) + on(false),
                                         chakra_node(3, "aten::mm_backward", 4, 30, {2}, {3}) + on(true),
                                         chakra_node(4, "volta_sgemm", 4, 8, {3}, {3}) + on(false),
                                         chakra_node(6, "fused", 4, 2, {4}, {77}) + on(false)})));
  REQUIRE(its.trace.ops.size() == 3);
  CHECK(its.trace.ops[0].phase == Phase::forward);
  CHECK(its.trace.ops[1].phase == Phase::backward);
  CHECK(its.trace.ops[2].phase == Phase::optimizer);  // behind the last of backward
  REQUIRE(its.left_out.size() == 1);
  CHECK(its.left_out.front().count == 2);
  CHECK(its.left_out.front().time == 50'000);
}

TEST_CASE("a collective behind the optimizer is launched before it, so that a trace can hold it") {
  const ChakraGraph graph = chakra_graph(
      chakra_file({chakra_metadata, chakra_node(1, "aten::mm", 4, 10),
                   chakra_node(2, "Optimizer.step#SGD.step", 4, 5, {1}), chakra_all_reduce(3, 400, {2})}));
  const ChakraImport imported = trace_of(graph, {});
  REQUIRE(imported.trace.ops.size() == 2);
  CHECK(imported.trace.ops[1].phase == Phase::optimizer);
  CHECK(imported.trace.ops[0].communications.size() == 1);
  CHECK(imported.trace.ops[1].communications.empty());
  CHECK(checked_trace_text("step.csv", imported.trace).find("all_reduce") != std::string::npos);
}

TEST_CASE("the sizes of all-gathers and gathers are a rank's part, and are counted as both") {
  const ChakraGraph graph = chakra_graph(
      chakra_file({chakra_metadata, chakra_node(1, "aten::mm", 4, 10), chakra_collective(2, 2, 100, {1}),
                   chakra_collective(3, 3, 100, {2}), chakra_all_reduce(4, 100, {3})}));
  const ChakraImport as_result = trace_of(graph, {});
  CHECK(as_result.collective_bytes.si() == 300);
  REQUIRE(as_result.warnings.size() == 1);
  CHECK(as_result.warnings.front().find("2 collectives that gather") != std::string::npos);
  const ChakraImport as_parts = trace_of(graph, 8);
  CHECK(as_parts.collective_bytes.si() == 100 * (8 + 8 + 1));
  CHECK(as_parts.warnings.empty());
}

TEST_CASE("the JSON variant is the same trace") {
  const ChakraImport its = trace_of(chakra_graph(R"({"workload_graph": [
    {"Id": 2, "Name": "backward_kernel", "NodeType": 4, "ctrlDeps": [8], "data_deps": [1], "runtime": 318, "is_cpu_op": false},
    {"Id": 3, "Name": "nccl", "NodeType": 7, "data_deps": [2], "runtime": 28, "is_cpu_op": false, "comm_type": 5, "comm_size": 64},
    {"Id": 1, "Name": "kernel", "NodeType": 4, "data_deps": [], "runtime": 4, "is_cpu_op": false}]})"));
  REQUIRE(its.trace.ops.size() == 2);
  CHECK(its.trace.ops[0].layer == "kernel");
  CHECK(its.trace.ops[1].phase == Phase::backward);
  CHECK(its.trace.ops[1].duration->si() == doctest::Approx(318e-6));
  REQUIRE(its.trace.ops[1].communications.size() == 1);
  CHECK(its.trace.ops[1].communications.front().operation == Operation::broadcast);
  CHECK(its.dangling_parents == 1);
}

TEST_CASE("what is no chain, or no execution trace, is refused by name") {
  const auto problem = [](const std::string& bytes) {
    const auto errors = errors_of([&] { trace_of(chakra_graph(bytes)); });
    REQUIRE(errors.size() == 1);
    return errors.front().message + "; " + errors.front().hint;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(problem(chakra_file({chakra_node(1, "a", 4, 1), chakra_node(2, "b", 4, 1, {4, 1}),
                           chakra_node(3, "c", 4, 1, {2}), chakra_node(4, "d", 4, 1, {3})})),
      "2 -> 4 -> 3 -> 2");
  has(problem(chakra_file({chakra_node(7, "self", 4, 1, {7})})), "7 -> 7");
  has(problem(chakra_file({chakra_node(1, "a", 4, 1), chakra_node(2, "to the next stage", 5, 1, {1})})),
      "message");
  has(problem(chakra_file({chakra_node(1, "a", 4, 1), chakra_node(2, "from it", 6, 1, {1})})), "message");
  has(problem(chakra_file({chakra_node(1, "a", 4, 1), chakra_node(1, "b", 4, 1)})), "id 1");
  has(problem(chakra_file({chakra_all_reduce(1, 1024, {})})), "no node computes");
  has(problem(""), "empty");
  has(problem(chakra_file({chakra_node(1, "a", 4, 1)}).substr(0, 8)), "byte 0");
  has(problem("PNG\r\n and so on, which is no message"), "byte 0");
  has(problem("DATA\n1\nconv1 -1 1200 NONE 0 900 NONE 0 1100 ALLREDUCE 37632 10\n"), "import astra-sim");
  has(problem(R"({"schemaVersion": 1, "traceEvents": []})"), "import kineto");
  has(problem(R"({"workload_graph": []})"), "no node");
  has(problem(R"({"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4})"), "byte");
  has(problem(R"({"workload_graph": [{"Id": 1, "Name": "a"}]})"), "node 1 of workload_graph has no NodeType");
  has(problem(R"({"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "runtime": -3}]})"), "runtime");
  has(problem(R"({"schema": "1.0.1", "nodes": []})"), "ExecutionTraceObserver");
}

TEST_CASE("values of the wire format are read to their limits") {
  const std::string largest = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  CHECK(WireReader(largest).varint() == ~std::uint64_t{0});
  CHECK_FALSE(WireReader(largest.substr(0, 9)).varint());
  CHECK_FALSE(WireReader(std::string(11, '\x80')).varint());
  CHECK_FALSE(WireReader("\x0a\x05"
                         "abc")
                  .field());
  CHECK_FALSE(WireReader(std::string("\x00", 1)).field());  // no field has the number 0
  CHECK_FALSE(WireReader("\x0b").field());                  // groups are of proto2
  const auto fixed = WireReader("\x0d\x01\x02\x00\x00" + std::string()).field();
  CHECK_FALSE(fixed);  // a text ends at its 0: three bytes are missing
  CHECK(WireReader(std::string("\x0d\x01\x02\x00\x00", 5)).field()->number == 0x201);
}

TEST_CASE("a damaged execution trace is read or refused, never more") {
  const std::string whole =
      chakra_file({chakra_metadata, chakra_node(1, "a_FWD", 4, 5), chakra_node(2, "a_BWD_WG", 4, 7, {1}, {1}),
                   chakra_all_reduce(3, 4096, {2}),
                   chakra_node(4, "sgd", 4, 3, {2, 3}) + wire_attribute("is_cpu_op", 27, 0)});
  const TemporaryFolder folder;
  const auto file = folder.path / "step.0.et";
  CHECK(rc::check([&] {
    std::string bytes = whole;
    const auto changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i) {
      const auto place = *rc::gen::inRange<std::size_t>(0, bytes.size());
      bytes[place] = static_cast<char>(*rc::gen::inRange(0, 256));
    }
    bytes.resize(*rc::gen::inRange<std::size_t>(1, bytes.size() + 1));
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      const ChakraImport its = trace_of(read_chakra(file));
      RC_ASSERT(!its.trace.ops.empty());
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().front().message.empty());
    }
  }));
}
