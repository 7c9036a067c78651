// Execution traces of PyTorch: read, as traces without durations, and joined with profiles.

#include "imports/execution_trace.hpp"

#include "errors_of.hpp"
#include "imports/checked_trace.hpp"
#include "imports/execution_trace_text.hpp"
#include "imports/join_execution_trace.hpp"
#include "imports/kineto_text.hpp"
#include "imports/profile_figures.hpp"
#include "imports/read_kineto.hpp"
#include "imports/traced_work.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <random>
#include <string>

using namespace trainyard;
using testing::execution_trace_text;
using testing::nested;
using testing::traced_node;
using testing::traced_step;
using testing::traced_tensor;
using testing::TracedOperands;
using testing::TraceNode;

namespace {

ExecutionTrace read_et(const std::string& text) {
  return read_execution_trace(testing::ProfileFile(text).path());
}

std::string et_problem(const std::string& text) {
  const auto errors = errors_of([&] { (void)untimed_trace(read_et(text)); });
  return errors.empty() ? "" : errors.front().message;
}

std::string et_problem(const std::vector<TraceNode>& nodes) {
  return et_problem(execution_trace_text(nodes));
}

/// The step with another value in one node.
std::vector<TraceNode> changed_step(std::size_t node, const std::string& name, const TraceNode& value) {
  std::vector<TraceNode> nodes = traced_step();
  nodes[node][name] = value;
  return nodes;
}

Profile profile_of_step() {
  return read_kineto(
      testing::ProfileFile(testing::kineto_text(testing::step_of_two_layers(3, 1000, 100))).path());
}

}  // namespace

TEST_CASE("both forms of an execution trace are the same nodes") {
  std::vector<TraceNode> later;
  for (const TraceNode& node : traced_step()) later.push_back(nested(node));
  std::ranges::reverse(later);  // the file's order is that of ends
  const ExecutionTrace flat = read_et(execution_trace_text(traced_step()));
  const ExecutionTrace other = read_et(execution_trace_text(later, "1.1.1-chakra.0.0.4"));
  CHECK(flat.schema == "1.0.1");
  CHECK(other.schema == "1.1.1-chakra.0.0.4");
  REQUIRE(flat.nodes.size() == 14);
  REQUIRE(other.nodes.size() == 14);
  for (std::size_t i = 0; i < flat.nodes.size(); ++i) {
    CAPTURE(flat.nodes[i].name);
    CHECK(other.nodes[i].id == flat.nodes[i].id);
    CHECK(other.nodes[i].parent == flat.nodes[i].parent);
    CHECK(other.nodes[i].dims == flat.nodes[i].dims);
    CHECK(other.nodes[i].types == flat.nodes[i].types);
    CHECK(other.nodes[i].is_range == flat.nodes[i].is_range);
    CHECK(other.nodes[i].writes == flat.nodes[i].writes);
    CHECK(other.nodes[i].outputs.size() == flat.nodes[i].outputs.size());
  }
  REQUIRE(other.nodes[11].collective);
  CHECK(other.nodes[11].collective->name == "allreduce");
  CHECK(other.nodes[11].collective->in_bytes == 272);
  CHECK(other.nodes[11].collective->ranks == 2);
}

TEST_CASE("attributes of schema 1.1 describe collectives, and groups have sizes") {
  TraceNode node = nested(traced_step()[11]);
  node["inputs"]["values"][4] = "something";
  node["inputs"]["values"].erase(7);
  node["attrs"].push_back({{"name", "collective_name"}, {"type", "string"}, {"value", "_allgather_base"}});
  node["attrs"].push_back({{"name", "pg_name"}, {"type", "string"}, {"value", "3"}});
  TraceNode init = nested(traced_node(2, 1, "## process_group:init ##", 1));
  init["inputs"]["values"] = {
      R"([{"pg_name": "3", "group_size": 4, "ranks": [0, 4, 2, 6], "pg_desc": "mesh_dp"}, {"pg_name": "odd"}, 7])"};
  const ExecutionTrace trace = read_et(execution_trace_text({init, node}));
  CHECK(trace.groups.at("3").size == 4);
  CHECK(trace.groups.at("3").ranks == std::vector<int>{0, 2, 4, 6});
  CHECK(trace.groups.at("3").description == "mesh_dp");
  CHECK(trace.groups.size() == 1);
  REQUIRE(trace.nodes[1].collective);
  CHECK(trace.nodes[1].collective->name == "_allgather_base");
  CHECK(trace.nodes[1].collective->group == "3");
  CHECK(ranks_of(trace) == 4);
}

TEST_CASE("an execution trace without a profile is ops with shapes, FLOPs and bytes, and no durations") {
  const UntimedTrace untimed = untimed_trace(read_et(execution_trace_text(traced_step())));
  const std::vector<Op>& ops = untimed.imported.trace.ops;
  REQUIRE(ops.size() == 5);
  CHECK(std::ranges::none_of(ops, [](const Op& op) { return op.duration.has_value(); }));
  CHECK(ops[0].kind == OpKind::gemm);
  CHECK(ops[0].layer == "linear.0");
  CHECK(ops[0].flops.si() == 2.0 * 8 * 4 * 16);
  CHECK(ops[0].bytes.si() == 4.0 * (128 + 64 + 4 + 32));  // of the addmm inside, once
  CHECK(ops[1].kind == OpKind::elementwise);
  CHECK(ops[1].bytes.si() == 4.0 * 64);
  CHECK(ops[2].phase == Phase::backward);
  CHECK(ops[3].flops.si() == 2.0 * 4 * 8 * 16);
  CHECK(ops[3].gradients.size() == 2);
  REQUIRE(ops[3].communications.size() == 1);
  CHECK(ops[3].communications[0].size.si() == 272);
  CHECK(ops[4].kind == OpKind::optimizer);
  CHECK(ops[4].bytes.si() == 4.0 * 128);
  CHECK(untimed.traced.matrix_flops == 2.0 * 8 * 4 * 16 * 2);
  CHECK(untimed.traced.profile.ranks == 2);
  CHECK_NOTHROW((void)checked_trace_text("step.csv", untimed.imported.trace));
}

TEST_CASE("tensors of a single value without sizes are tensors: losses, scales, their gradients and sums") {
  std::vector<TraceNode> nodes = traced_step();
  const TraceNode floats = TraceNode::array({"Tensor(float)"});
  const TraceNode no_sizes = TraceNode::array({TraceNode::array()});
  const TraceNode scale = TraceNode::array({traced_tensor(57, 67, 1)});
  nodes[10] = traced_node(18, 10, "torch::autograd::AccumulateGrad", 2, {scale, no_sizes, floats});
  const TracedOperands loss{TraceNode::array({traced_tensor(54, 64, 32)}), TraceNode::array({{8, 4}}), floats,
                            TraceNode::array({traced_tensor(70, 90, 1)})};
  nodes.push_back(traced_node(7, 1, "aten::sum", 1, loss));
  const TracedOperands reduced{
      {TraceNode::array({traced_tensor(70, 90, 1)}), 8, 99, 0, "allreduce", TraceNode::array(),
       TraceNode::array(), 2},
      TraceNode::array({TraceNode::array({TraceNode::array()}), TraceNode::array(), TraceNode::array()}),
      {"GenericList[Tensor(float)]", "Int", "Int"},
      TraceNode::array({TraceNode::array({traced_tensor(70, 90, 1)})})};
  nodes.push_back(traced_node(21, 10, "record_param_comms", 2, reduced));
  const ImportedTrace its = untimed_trace(read_et(execution_trace_text(nodes))).imported;
  REQUIRE(its.trace.ops.size() == 6);
  CHECK(its.trace.ops[2].layer == "sum.0");
  CHECK(its.trace.ops[2].bytes.si() == 4.0 * 33);
  double values = 0;
  std::vector<double> sizes;
  for (const Op& op : its.trace.ops) {
    for (const Gradient& one : op.gradients) values += one.elements;
    for (const OpCommunication& one : op.communications) sizes.push_back(one.size.si());
  }
  CHECK(values == 65);
  CHECK(sizes == std::vector<double>{272, 4});
}

TEST_CASE("views, allocations and copies from the host are no work") {
  std::vector<TraceNode> nodes = traced_step();
  const TracedOperands view{
      TraceNode::array({traced_tensor(50, 60, 128)}), {}, {}, TraceNode::array({traced_tensor(70, 60, 128)})};
  const TracedOperands fresh{{}, {}, {}, TraceNode::array({traced_tensor(71, 91, 128)})};
  const TracedOperands upload{{traced_tensor(71, 91, 128), traced_tensor(72, 92, 128, "cpu")},
                              {{8, 16}, {8, 16}},
                              {"Tensor(float)", "Tensor(float)"},
                              TraceNode::array({traced_tensor(71, 91, 128)})};
  const TracedOperands on_host{TraceNode::array({traced_tensor(72, 92, 128, "cpu")}),
                               {},
                               {},
                               TraceNode::array({traced_tensor(73, 93, 128, "cpu")})};
  nodes.push_back(traced_node(5, 1, "aten::transpose", 1, view));
  nodes.push_back(traced_node(7, 1, "aten::empty_like", 1, fresh));
  nodes.push_back(traced_node(8, 1, "aten::copy_", 1, upload));
  nodes.push_back(traced_node(9, 1, "aten::mul", 1, on_host));
  const UntimedTrace untimed = untimed_trace(read_et(execution_trace_text(nodes)));
  CHECK(untimed.imported.trace.ops.size() == 5);
  CHECK(untimed.traced.host_copies == 1);
}

TEST_CASE("a model that ran on the host alone has the same trace") {
  std::string text = execution_trace_text(traced_step());
  for (std::size_t at = text.find("cuda:0"); at != std::string::npos; at = text.find("cuda:0"))
    text.replace(at, 6, "cpu");
  const UntimedTrace untimed = untimed_trace(read_et(text));
  CHECK(untimed.imported.trace.ops ==
        untimed_trace(read_et(execution_trace_text(traced_step()))).imported.trace.ops);
}

TEST_CASE("the two gradients of a convolution are two ops, if both were asked for, and a bias's is a sum") {
  const auto backward = [](bool input, bool weight, bool bias) {
    const auto none = [](int id) { return TraceNode::array({id, 0, 0, 0, 0, ""}); };
    TraceNode outputs = {input ? traced_tensor(80, 81, 512) : none(80),
                         weight ? traced_tensor(82, 83, 72) : none(82),
                         bias ? traced_tensor(84, 85, 8) : none(84)};
    return TracedOperands{{traced_tensor(85, 86, 512),
                           traced_tensor(87, 88, 512),
                           traced_tensor(89, 90, 72),
                           {0},
                           {1, 1},
                           {1, 1},
                           {1, 1},
                           false,
                           {0, 0},
                           1,
                           {input, weight, bias}},
                          {{1, 8, 8, 8},
                           {1, 1, 8, 8},
                           {8, 1, 3, 3},
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array(),
                           TraceNode::array()},
                          {"Tensor(float)", "Tensor(float)", "Tensor(float)"},
                          outputs};
  };
  for (int asked = 1; asked < 8; ++asked) {
    CAPTURE(asked);
    const bool input = (asked & 1) != 0;
    const bool weight = (asked & 2) != 0;
    std::vector<TraceNode> nodes = traced_step();
    nodes.push_back(traced_node(21, 10, "autograd::engine::evaluate_function: ConvolutionBackward0", 2));
    nodes.push_back(traced_node(22, 21, "aten::convolution_backward", 2, backward(input, weight, asked > 3)));
    const auto ops = untimed_trace(read_et(execution_trace_text(nodes))).imported.trace.ops;
    CHECK(std::ranges::count(ops, OpKind::conv_dgrad, &Op::kind) == (input ? 1 : 0));
    CHECK(std::ranges::count(ops, OpKind::conv_wgrad, &Op::kind) == (weight ? 1 : 0));
    const double operands = 4.0 * (512 + 512 + 72);
    for (const Op& op : ops) {
      if (op.kind != OpKind::conv_dgrad && op.kind != OpKind::conv_wgrad) continue;
      CHECK(op.flops.si() == 2.0 * 8 * 8 * 8 * 9);
      CHECK(op.bytes.si() == operands + 4.0 * (op.kind == OpKind::conv_dgrad ? 512 : 72));
    }
    if (input || weight) continue;
    const auto bias =
        std::ranges::find_if(ops, [](const Op& op) { return op.bytes.si() == 4.0 * (512 + 8); });
    REQUIRE(bias != ops.end());
    CHECK(bias->kind == OpKind::elementwise);
    CHECK(bias->phase == Phase::backward);
    CHECK(bias->flops.si() == 0);
  }
}

TEST_CASE("kernels that a compiler made are work") {
  TraceNode kernel = nested(traced_node(7, 1, "triton_poi_fused_0", 1,
                                        {{traced_tensor(53, 63, 32), traced_tensor(54, 64, 32), 16},
                                         {{8, 4}, {8, 4}, TraceNode::array()},
                                         {"Tensor(float)", "Tensor(float)", "Int"},
                                         TraceNode::array()}));
  kernel["attrs"].push_back({{"name", "kernel_backend"}, {"type", "string"}, {"value", "triton"}});
  std::vector<TraceNode> nodes = traced_step();
  nodes.push_back(kernel);
  const auto ops = untimed_trace(read_et(execution_trace_text(nodes))).imported.trace.ops;
  REQUIRE(ops.size() == 6);
  CHECK(ops[2].kind == OpKind::elementwise);
  CHECK(ops[2].bytes.si() == 4.0 * 64);
}

TEST_CASE("the order of calls counts, not that of ids, which other tools give anew") {
  std::vector<TraceNode> nodes = traced_step();
  nodes[1]["id"] = 95;  // aten::linear, and the addmm inside
  nodes[2]["parent"] = 95;
  CHECK(untimed_trace(read_et(execution_trace_text(nodes))).imported.trace.ops ==
        untimed_trace(read_et(execution_trace_text(traced_step()))).imported.trace.ops);
}

TEST_CASE("a matrix product is work, also if an operator inside of it computes something else") {
  std::vector<TraceNode> nodes = traced_step();
  const TracedOperands sum{TraceNode::array({traced_tensor(55, 65, 32)}), TraceNode::array({{8, 4}}),
                           TraceNode::array({"Tensor(float)"}), TraceNode::array({traced_tensor(59, 69, 4)})};
  nodes.push_back(traced_node(16, 15, "aten::sum", 2, sum));
  const UntimedTrace untimed = untimed_trace(read_et(execution_trace_text(nodes)));
  CHECK(untimed.traced.matrix_flops == 2.0 * 8 * 4 * 16 * 2);
  CHECK(untimed.imported.trace.ops[3].bytes.si() == 4.0 * (32 + 128 + 64 + 32 + 4));
}

TEST_CASE("steps of an execution trace reach over all threads to the next one") {
  std::vector<TraceNode> nodes;
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (TraceNode node : traced_step()) {
      const bool is_root = node["name"].get<std::string>().starts_with("[");
      if (is_root && step > 0) continue;
      if (!is_root) {
        node["id"] = node["id"].get<std::uint64_t>() + 100 * (step + 1);
        node["rf_id"] = node["id"].get<std::uint64_t>() + 1000;
        const auto parent = node["parent"].get<std::uint64_t>();
        if (parent != 1 && parent != 10) node["parent"] = parent + 100 * (step + 1);
      }
      nodes.push_back(node);
    }
    nodes.push_back(traced_node(100 * (step + 1), 1, "ProfilerStep#" + std::to_string(step + 4), 1));
  }
  const UntimedTrace untimed = untimed_trace(read_et(execution_trace_text(nodes)));
  CHECK(untimed.work.steps.size() == 3);
  CHECK(untimed.imported.steps == std::vector<int>{4, 5, 6});
  CHECK(untimed.imported.trace.ops ==
        untimed_trace(read_et(execution_trace_text(traced_step()))).imported.trace.ops);
  CHECK(figures_of(untimed.traced.profile, untimed.work).collectives.at("allreduce").count == 3);
}

TEST_CASE("an execution trace gives its profile shapes and sizes, by the order of names on each thread") {
  Profile profile = profile_of_step();
  for (ProfileEvent& event : profile.events) event.operands = event.collective = no_event;
  const TraceJoin join = join_execution_trace(read_et(execution_trace_text(traced_step())), profile);
  CHECK(join.joined == 12);
  CHECK_FALSE(join.by_number);
  CHECK_FALSE(join.step_range);
  const ImportedTrace imported = trace_of(profile, join_launches(profile));
  CHECK(imported.trace.ops[0].flops.si() == 2.0 * 8 * 4 * 16);
  CHECK(imported.trace.ops[0].duration->si() == doctest::Approx(20e-6));
  CHECK(imported.collectives == 1);
  CHECK(imported.tensors == 2);
}

TEST_CASE("operators that begin in the same microsecond may stand in any order in a profile") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  std::swap(events[1], events[2]);
  events[1] = testing::host_event("cpu_op", "aten::addmm", 1001, 9);
  Profile profile = read_kineto(testing::ProfileFile(testing::kineto_text(events)).path());
  CHECK(join_execution_trace(read_et(execution_trace_text(traced_step())), profile).joined == 12);
}

TEST_CASE("ranges that only the profile or only the execution trace has are passed over") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  std::vector<TraceNode> nodes = traced_step();
  std::size_t missing = 0;
  SUBCASE("one of the profile") {
    events.push_back(testing::host_event("user_annotation", "enumerate(DataLoader)#__next__", 1000, 1));
  }
  SUBCASE("one of an old profile, where ranges have the category of operators") {
    events.push_back(testing::host_event("cpu_op", "enumerate(DataLoader)#__next__", 1000, 1));
  }
  SUBCASE("two of the profile, of which the trace has one") {
    nodes.push_back(traced_node(2, 1, "## forward ##", 1));
    missing = 1;
    for (const double start : {1000, 1001})
      events.push_back(testing::host_event("user_annotation", "## forward ##", start, 1));
  }
  SUBCASE("one of the execution trace, on a thread that the profile does not have") {
    nodes.push_back(traced_node(32, 1, "## metrics ##", 3));
    missing = 1;
  }
  SUBCASE("as many as there are operators, which leaves the step a traced one") {
    for (int i = 0; i < 20; ++i)
      events.push_back(testing::host_event("user_annotation", "nccl:wait", 1000 + 0.01 * i, 0.001));
  }
  Profile profile = read_kineto(testing::ProfileFile(testing::kineto_text(events)).path());
  const TraceJoin join = join_execution_trace(read_et(execution_trace_text(nodes)), profile);
  CHECK(join.joined == 12);
  CHECK(join.missing == missing);
  CHECK_FALSE(join.step_range);
  CHECK(join_launches(profile).steps.size() == 1);
}

TEST_CASE("two threads with the same operators are two threads of the profile") {
  std::vector<TraceNode> nodes;
  std::vector<std::string> events;
  for (const int thread : {1, 2}) {
    for (std::uint64_t i = 0; i < 3; ++i) {
      nodes.push_back(traced_node(10 * static_cast<std::uint64_t>(thread) + i, 1, "aten::relu", thread));
      events.push_back(
          testing::host_event("cpu_op", "aten::relu", 10.0 * static_cast<double>(i) + thread, 1, {}, thread));
    }
  }
  events.push_back(testing::gpu_event("kernel", "relu", 50, 1, 1));
  Profile profile = read_kineto(testing::ProfileFile(testing::kineto_text(events)).path());
  CHECK(join_execution_trace(read_et(execution_trace_text(nodes)), profile).joined == 6);
}

TEST_CASE("more than 4,096 operators that begin at the same time are in no order") {
  std::vector<TraceNode> nodes{traced_node(2, 1, "aten::add", 1)};
  std::vector<std::string> events;
  for (std::uint64_t i = 0; i < 4200; ++i) {
    nodes.push_back(traced_node(i + 3, 1, "aten::relu", 1));
    events.push_back(testing::host_event("cpu_op", "aten::relu", 10, 1));
  }
  events.push_back(testing::host_event("cpu_op", "aten::add", 10, 1));
  events.push_back(testing::gpu_event("kernel", "relu", 50, 1, 1));
  Profile profile = read_kineto(testing::ProfileFile(testing::kineto_text(events)).path());
  const ExecutionTrace trace = read_et(execution_trace_text(nodes));
  const auto errors = errors_of([&] { (void)join_execution_trace(trace, profile); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().message ==
        "more than 4,096 operators of the profile begin at the same time: their order is unknown");
}

TEST_CASE("a profile with the numbers of calls is joined by them, and only its traced step is used") {
  std::optional<std::string> range;
  SUBCASE("steps of the profiler") {}
  SUBCASE("steps of a name") { range = "ProfilerStep"; }
  Profile profile = read_kineto(testing::ProfileFile(testing::three_steps()).path());
  const ExecutionTrace trace = read_et(execution_trace_text(traced_step()));
  for (const TracedNode& node : trace.nodes) {  // the second step
    int seen = 0;
    for (ProfileEvent& event : profile.events) {
      const bool is_host = event.kind == EventKind::op || event.kind == EventKind::range;
      if (is_host && event.record == ProfileEvent::no_number && profile.texts[event.name] == node.name &&
          ++seen == (node.name.find("AccumulateGrad") == std::string::npos ? 2
                     : node.id == 17                                       ? 3
                                                                           : 3))
        event.record = node.record;
    }
  }
  const TraceJoin join = join_execution_trace(trace, profile, range);
  CHECK(join.by_number);
  CHECK(join.joined == 12);
  CHECK_FALSE(join.step_range);
  const ProfileWork work = join_launches(profile, range);
  REQUIRE(work.steps.size() == 1);
  CHECK(work.steps[0].number == 4);
}

TEST_CASE("an execution trace of another run than the profile is refused") {
  const auto refused = [](std::vector<TraceNode> nodes, bool by_number) {
    Profile profile = profile_of_step();
    if (by_number) {
      for (ProfileEvent& event : profile.events) {
        if (profile.texts[event.name] == "aten::addmm") event.record = 1004;
      }
    }
    const ExecutionTrace trace = read_et(execution_trace_text(nodes));
    const auto errors = errors_of([&] { (void)join_execution_trace(trace, profile); });
    return errors.empty() ? "" : errors.front().message;
  };
  CHECK(refused(changed_step(3, "name", "aten::gelu"), false) ==
        "thread 1 has other operators than the profile from its no. 3 on: 'aten::gelu'");
  auto more = traced_step();
  more.push_back(traced_node(40, 1, "aten::add", 1));
  CHECK(refused(more, false) ==
        "thread 1 has 6 operators, and no thread of the profile as many (the nearest: 5)");
  CHECK(refused(changed_step(2, "name", "aten::mm"), true) ==
        "call 1004 is 'aten::mm' here and 'aten::addmm' in the profile");
  CHECK(refused(changed_step(2, "rf_id", 7), true) == "no operator is in the profile");
  auto twice = traced_step();
  twice.push_back(traced_node(40, 1, "aten::addmm", 1));
  twice.back()["rf_id"] = 1004;
  CHECK(refused(twice, true) == "two nodes are the call 1004: 'aten::addmm'");
  auto third = traced_step();  // a thread with the operators of the first one, of which the profile has one
  for (TraceNode node : traced_step()) {
    if (node["tid"] != 1) continue;
    node["id"] = node["id"].get<std::uint64_t>() + 100;
    node["tid"] = 3;
    third.push_back(node);
  }
  CHECK(refused(third, false) ==
        "the execution trace has more threads than the profile: none is left for thread 3");
}

TEST_CASE("damaged execution traces are refused with the byte or the node") {
  const std::string text = execution_trace_text(traced_step());
  CHECK(et_problem(text.substr(0, text.size() / 2)).find("no JSON: damaged or cut off at byte ") == 0);
  CHECK(et_problem("{}") == "no array of nodes");
  CHECK(et_problem("[1]") == "no array of nodes");
  CHECK(et_problem(R"({"nodes": []})") == "the execution trace has no operators");
  CHECK(et_problem(std::vector<TraceNode>{traced_node(3, 1, "aten::add", 1)}) ==
        "no operator works on tensors");
  CHECK(et_problem(changed_step(2, "id", 3)) == "two nodes have the id 3");
  CHECK(et_problem(changed_step(2, "id", "x")) == "node no. 3 has a id that is no whole number from 0 on");
  CHECK(et_problem(changed_step(2, "tid", -1)) == "node 4 has a tid that is no whole number from 0 on");
  CHECK(et_problem(changed_step(2, "name", 7)) == "node 4 has no name");
  CHECK(et_problem(
            changed_step(2, "inputs", TraceNode::array({traced_tensor(1, 2, 1'000'000'000'000'000'000)}))) ==
        "node 4 has a tensor of more than 1 PB");
  CHECK(et_problem(R"({"nodes": [], "time": 1e999})") == "a number is out of range");
  CHECK(et_problem(R"({"nodes": [{"name": "aten::add", "id": 1e999}]})") == "a number is out of range");
  CHECK(et_problem(R"({"nodes": [{"name": "aten::add", "id": 3}, 7]})") == "node no. 2 is no object");
  CHECK(et_problem(R"({"nodes": [["aten::add"]]})") == "node no. 1 is no object");
  CHECK(et_problem(std::string(300, '[')).find("deeper than 64 levels") != std::string::npos);
  CHECK_THROWS_AS((void)read_execution_trace("/nonexistent/et.json"), FileError);
}

TEST_CASE("cycles, parents that are not there and other types are no harm") {
  CHECK(et_problem(changed_step(2, "parent", 4)).empty());
  CHECK(et_problem(changed_step(2, "parent", 31)).empty());
  CHECK(et_problem(changed_step(2, "parent", 777'777)).empty());
  CHECK(read_et(execution_trace_text(changed_step(2, "parent", 777'777))).missing_parents == 1);
  CHECK(read_et(execution_trace_text(traced_step())).missing_parents == 0);
  CHECK(et_problem(changed_step(2, "inputs", "none")).empty());
  CHECK(et_problem(changed_step(2, "input_shapes", {{"a", 1}})).empty());
  CHECK(et_problem(changed_step(11, "inputs", TraceNode::array())).empty());
  std::mt19937 random(11);
  const std::string text = execution_trace_text(traced_step());
  for (int i = 0; i < 400; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = "0123456789[]{},:\"-ae"[random() % 20];
    try {
      const UntimedTrace untimed = untimed_trace(read_et(damaged));
      (void)checked_trace_text("step.csv", untimed.imported.trace);
    } catch (const InputError&) {
    }
  }
}
