// Groups of ranks of a profile as the axes of a layout.

#include "imports/profile_groups.hpp"

#include "imports/group_layout.hpp"
#include "imports/kineto_text.hpp"
#include "imports/profile_trace.hpp"
#include "imports/read_kineto.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace trainyard;
using testing::host_event;
using testing::kernel;

namespace {

UsedGroup tensor_group(std::vector<int> ranks) {
  return {.name = "t", .ranks = std::move(ranks), .sums_in_forward = true, .sums_behind_forward = true};
}
UsedGroup replicas(std::vector<int> ranks) {
  return {.name = "d", .ranks = std::move(ranks), .sums_behind_forward = true};
}
UsedGroup sharding(std::vector<int> ranks) {
  return {.name = "s", .ranks = std::move(ranks), .gathers_in_forward = true, .sums_behind_forward = true};
}
UsedGroup exchanging(std::vector<int> ranks) {
  return {.name = "e", .ranks = std::move(ranks), .exchanges = true};
}
UsedGroup described(std::string description, UsedGroup group) {
  group.description = std::move(description);
  return group;
}

std::string settings_of(const std::vector<UsedGroup>& groups, int ranks) {
  const auto layout = layout_of_groups(groups, ranks);
  if (!layout) return "none: " + layout.error();
  std::string text;
  for (const Axis axis : layout->axes) text += fmt::format("{} ", config::name_of(axis));
  for (const auto& [key, value] : layout_settings(layout->parallelism))
    text += fmt::format("{}={} ", key.substr(key.find('.') + 1), value);
  text.pop_back();
  return text;
}

struct Collective {
  std::string call;  ///< "allreduce"
  std::string kernel;
  std::string group, members;
  int size = 0;
};

/// A collective behind a launch, as its caller describes it.
void add(std::vector<std::string>& events, const Collective& one, double at, int correlation, int thread) {
  events.push_back(host_event(
      "cpu_op", "record_param_comms", at, 2,
      fmt::format(
          "\"Collective name\": \"{}\", \"In msg nelems\": 64, \"Out msg nelems\": {}, \"dtype\": "
          "\"Float\", \"Group size\": {}, \"Process Group Name\": \"{}\", \"Process Group Ranks\": \"{}\"",
          one.call, one.call == "_allgather_base" ? 64 * one.size : 64, one.size, one.group, one.members),
      thread));
  for (const std::string& event : kernel(one.kernel, at + 0.5, at + 500, 1, correlation, thread, 20))
    events.push_back(event);
}

/// A step with a collective in forward and one in backward, of rank 2 of 8.
std::string two_groups(const Collective& in_forward, const Collective& in_backward,
                       std::string_view configuration = {}) {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  std::erase_if(events, [](const std::string& one) {
    return one.find("nccl") != std::string::npos || one.find("record_param_comms") != std::string::npos;
  });
  add(events, in_forward, 1015, 200, 1);
  add(events, in_backward, 1045, 201, 2);
  return testing::kineto_text(
      events,
      fmt::format("  \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 2, \"world_size\": 8{}}},\n",
                  configuration));
}

const std::string reduce_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

ImportedTrace imported(const std::string& text) {
  const Profile profile = read_kineto(testing::ProfileFile(text).path());
  return trace_of(profile, join_launches(profile));
}

std::vector<Axis> axes_in(const Trace& trace) {
  std::vector<Axis> axes;
  for (const Op& op : trace.ops) {
    for (const OpCommunication& one : op.communications) axes.push_back(one.axis);
  }
  return axes;
}

}  // namespace

TEST_CASE("groups of consecutive ranks that sum in forward are of tensor parallelism, others of replicas") {
  CHECK(settings_of({tensor_group({2, 3}), replicas({0, 2, 4, 6})}, 8) == "tensor data tensor=2");
  CHECK(settings_of({replicas({0, 2, 4, 6}), tensor_group({2, 3})}, 8) == "data tensor tensor=2");
  CHECK(settings_of({tensor_group({0, 1, 2, 3})}, 16) == "tensor tensor=4");
  CHECK(settings_of({replicas({1, 5, 9, 13})}, 16) == "data tensor=4");
  // a loss or a norm is summed over replicas in forward, too
  CHECK(settings_of({tensor_group({0, 2, 4, 6}), tensor_group({0, 1})}, 8) == "data tensor tensor=2");
}

TEST_CASE("groups of context ranks, experts and divided layers have their places") {
  const UsedGroup context = described("CONTEXT_PARALLEL_GROUP", sharding({0, 2}));
  CHECK(settings_of({tensor_group({0, 1}), context, replicas({0, 2, 4, 6})}, 8) ==
        "tensor context data tensor=2 context=2");
  CHECK(settings_of({exchanging({0, 1, 2, 3}), replicas({0, 4})}, 8) ==
        "expert layer_data expert=4 layer_group=4");
  CHECK(settings_of({exchanging({0, 1, 2, 3}), described("expert_data", replicas({0, 4}))}, 8) ==
        "expert expert_data expert=4");
  CHECK(settings_of({sharding({0, 1, 2, 3}), replicas({0, 4})}, 8) == "layer layer_data layer_group=4");
  CHECK(settings_of({described("mesh_dp_shard", sharding({4, 5, 6, 7})),
                     described("mesh_dp_replicate", replicas({3, 7}))},
                    8) == "layer layer_data layer_group=4");
  CHECK(settings_of({sharding({0, 2, 4, 6}), tensor_group({0, 1})}, 8) == "data tensor tensor=2");
}

TEST_CASE("a framework's description of a group decides before what it does") {
  CHECK(settings_of({described("mesh_tp", sharding({0, 1}))}, 8) == "tensor tensor=2");
  CHECK(settings_of({described("TENSOR_MODEL_PARALLEL_GROUP", sharding({0, 4})),
                     described("DATA_PARALLEL_GROUP", replicas({0, 1, 2, 3}))},
                    8) == "tensor data tensor=2 order=[data, tensor, context, pipeline]");
  CHECK(settings_of({described("default_pg", tensor_group({0, 1}))}, 8) == "tensor tensor=2");
}

TEST_CASE("groups that are of no layout have a reason") {
  const auto refused = [](const std::vector<UsedGroup>& groups, int ranks, const char* what) {
    const std::string text = settings_of(groups, ranks);
    CHECK_MESSAGE(text.starts_with("none: "), text);
    CHECK_MESSAGE(text.find(what) != std::string::npos, text);
  };
  refused({tensor_group({})}, 8, "does not say the ranks of group 't'");
  refused({tensor_group({0, 1}), replicas({0, 1, 2, 3})}, 8, "2 stages of a pipeline");
  refused({replicas({0, 1, 2, 3})}, 8, "2 stages of a pipeline");
  refused({described("PIPELINE_MODEL_PARALLEL_GROUP", replicas({0, 4}))}, 8, "2 stages of a pipeline");
  refused({tensor_group({0, 3})}, 8, "no layout of 'parallelism' has their groups (group 't' of ranks 0, 3)");
  refused({tensor_group({0, 1}), tensor_group({0, 1, 2})}, 8, "no layout");
  refused({tensor_group({1, 2})}, 8, "no layout");
  refused({tensor_group({6, 9})}, 8, "rank 9 of 8");
}

TEST_CASE("the groups of other ranks' profiles belong to the same layout") {
  const std::vector<UsedGroup> own{tensor_group({0, 1}), replicas({0, 2, 4, 6})};
  const std::vector<std::vector<int>> alike{{6, 7}, {1, 3, 5, 7}};
  CHECK(layout_of_groups(own, 8, alike).has_value());
  const std::vector<std::vector<int>> unlike{{5, 6}};
  const auto refused = layout_of_groups(own, 8, unlike);
  REQUIRE(!refused);
  CHECK(refused.error().find("not those of the other ranks") != std::string::npos);
}

TEST_CASE("lists of ranks are read whole or not at all") {
  CHECK(listed_ranks("[4, 0, 2]") == std::vector<int>{0, 2, 4});
  for (const char* const text : {"", "[0, 1, ...]", "[0, -1]", "[0.5]", "{}", "[2000000000]", "[\"0\"]"})
    CHECK_FALSE(listed_ranks(text));
}

TEST_CASE("the collectives of a profile name the groups of its layout") {
  const ImportedTrace its = imported(two_groups({"allreduce", reduce_kernel, "5", "[2, 3]", 2},
                                                {"allreduce", reduce_kernel, "6", "[0, 2, 4, 6]", 4}));
  CHECK(its.warnings.empty());
  REQUIRE(its.layout);
  CHECK(its.layout->tensor == 2);
  CHECK(axes_in(its.trace) == std::vector{Axis::tensor, Axis::data});
  CHECK(read_trace("t.csv", write_trace(its.trace)) == its.trace);
  CHECK(write_trace(its.trace).find(",group,") != std::string::npos);
}

TEST_CASE("ranks and purposes of groups come from the list of groups where the collectives lack them") {
  const char* const list =
      ", \"pg_config\": [{\"pg_name\": \"5\", \"pg_desc\": \"mesh_tp\", \"pg_size\": 2, \"ranks\": [2, 3]}, "
      "{\"pg_name\": \"6\", \"pg_desc\": \"mesh_dp\", \"pg_size\": 4, \"ranks\": [0, 2, 4, 6]}, "
      "{\"pg_name\": \"0\", "
      "\"pg_size\": 8, \"ranks\": []}]";
  const Collective shortened{"allreduce", reduce_kernel, "6", "[0, 2, ...]", 4};
  const ImportedTrace its = imported(two_groups({"allreduce", reduce_kernel, "5", "", 2}, shortened, list));
  REQUIRE(its.layout);
  CHECK(axes_in(its.trace) == std::vector{Axis::tensor, Axis::data});
  // a group of all ranks needs no name
  const ImportedTrace all = imported(two_groups({"allreduce", reduce_kernel, "0", "", 8}, shortened, list));
  CHECK(axes_in(all.trace) == std::vector{Axis::all, Axis::data});
}

TEST_CASE("all ranks take part, with a warning, where the groups are those of no layout") {
  const auto warning_of = [](const Collective& forward, const Collective& backward) {
    const ImportedTrace its = imported(two_groups(forward, backward));
    CHECK_FALSE(its.layout);
    CHECK(axes_in(its.trace).front() == Axis::all);
    REQUIRE(its.warnings.size() == 1);
    CHECK(its.warnings[0].find("all ranks take part") != std::string::npos);
    return its.warnings[0];
  };
  const Collective tensor{"allreduce", reduce_kernel, "5", "[2, 3]", 2};
  CHECK(warning_of(tensor, {"allreduce", reduce_kernel, "6", "[0, 1, 2, 3]", 4}).find("pipeline") !=
        std::string::npos);
  CHECK(warning_of(tensor, {"allreduce", reduce_kernel, "6", "", 4}).find("does not say the ranks") !=
        std::string::npos);
  CHECK(warning_of(tensor,
                   {"send", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "7", "[2, 6]", 2})
            .find("messages") != std::string::npos);
}

TEST_CASE("a collective of a single value without sizes has its bytes by its type") {
  const auto collectives_of = [](const std::string& type) {
    std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
    for (std::string& one : events) {
      if (one.find("record_param_comms") == std::string::npos) continue;
      one = host_event("cpu_op", "record_param_comms", 1040, 4,
                       fmt::format("\"Input Dims\": [[]], \"Input type\": [\"{}\"]", type), 2);
    }
    return imported(testing::kineto_text(events)).trace;
  };
  double bytes = 0;
  for (const Op& op : collectives_of("double").ops) {
    for (const OpCommunication& one : op.communications) bytes += one.size.si();
  }
  CHECK(bytes == 8);
  for (const Op& op : collectives_of("").ops) CHECK(op.communications.empty());
}
