// The collectives and messages that layouts plan, against sizes and counts of the papers.

#include "schedule/layout_plan.hpp"

#include "shipped_layout.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// Calls `act` with each Join that a program writes out, with that of segments once per run.
template <class Act>
void for_each_join(const TaskGraph& graph, const Program& program, Act act) {
  for (const std::vector<Task>& stream : program.streams) {
    for (const Task& task : stream) {
      if (const auto* join = std::get_if<Join>(&task)) act(*join);
      if (const auto* segment = std::get_if<RunSegment>(&task))
        for_each_join(graph, graph.segments[at(segment->segment)].program, act);
    }
  }
}

const Program& program_of(const StepPlan& plan, const ResolvedExperiment& resolved, int stage) {
  const auto one = std::ranges::find(resolved.classes, stage, &RankClass::stage);
  return plan.graph.programs[at(plan.graph.program_of_rank[at(index(one->ranks.front()))])];
}

/// How often a stage joins each collective in a step.
std::map<int, int> joins_of(const StepPlan& plan, const ResolvedExperiment& resolved, int stage) {
  std::map<int, int> joins;
  for_each_join(plan.graph, program_of(plan, resolved, stage),
                [&](const Join& join) { ++joins[join.collective]; });
  return joins;
}

/// Collectives of layers inside blocks, per block of a stage and micro-batch, and their sizes.
struct TensorTraffic {
  double per_block = 0;
  std::set<double> sizes;
  std::map<Operation, int> operations;
};

TensorTraffic tensor_traffic(const StepPlan& plan, const ResolvedExperiment& resolved, int stage) {
  const auto one = std::ranges::find(resolved.classes, stage, &RankClass::stage);
  std::set<std::optional<int>> blocks;
  for (const Layer& layer : one->layers) {
    if (layer.block) blocks.insert(layer.block);
  }
  TensorTraffic traffic;
  int all = 0;
  for (const auto& [number, times] : joins_of(plan, resolved, stage)) {
    const Collective& collective = plan.graph.collectives[at(number)];
    const int op = collective.label.ready_op;
    if (collective.label.axis != Axis::tensor || op < 0) continue;
    const int layer = one->trace.ops[at(op)].of_layer;
    if (layer < 0 || !one->layers[at(layer)].block) continue;
    CHECK(times == collective.rounds);
    CHECK(times == resolved.layout->micro_batches);
    traffic.sizes.insert(collective.size.si());
    ++traffic.operations[collective.operation];
    ++all;
  }
  traffic.per_block = static_cast<double>(all) / static_cast<double>(blocks.size());
  return traffic;
}

const Collective* named(const StepPlan& plan, const std::map<int, int>& joins, const std::string& name,
                        Operation operation) {
  for (const auto& [number, times] : joins) {
    const Collective& collective = plan.graph.collectives[at(number)];
    if (collective.label.name == name && collective.operation == operation) return &collective;
  }
  return nullptr;
}

std::set<double> message_sizes(const StepPlan& plan) {
  std::set<double> sizes;
  for (const Collective& collective : plan.graph.collectives) {
    if (collective.operation == Operation::send_recv) sizes.insert(collective.size.si());
  }
  return sizes;
}

const std::set<double> mebibytes_48{50'331'648};

}  // namespace

TEST_CASE(
    "a block of GPT-3 175B has four all-reduces of 48 MiB per micro-batch, six with full recomputation") {
  for (const Overrides& chunks : {Overrides{}, Overrides{{"parallelism.virtual_stages", "3"}}}) {
    for (const auto& [recompute, expected] : std::map<std::string, int>{{"none", 4}, {"full", 6}}) {
      const ResolvedExperiment resolved = gpt3_layout(joined(chunks, {{"parallelism.recompute", recompute}}));
      const StepPlan plan = plan_layout_step(resolved);
      for (const int stage : {0, 3, 7}) {
        const TensorTraffic traffic = tensor_traffic(plan, resolved, stage);
        CHECK(traffic.per_block == expected);
        CHECK(traffic.sizes == mebibytes_48);
        CHECK(traffic.operations.size() == 1);
        CHECK(traffic.operations.contains(Operation::all_reduce));
      }
    }
  }
}

TEST_CASE("with sequence parallelism a block has ten collectives of the same size") {
  const ResolvedExperiment resolved =
      gpt3_layout({{"parallelism.sequence", "true"}, {"parallelism.recompute", "selective"}});
  const TensorTraffic traffic = tensor_traffic(plan_layout_step(resolved), resolved, 3);
  CHECK(traffic.per_block == 10);
  CHECK(traffic.sizes == mebibytes_48);
  CHECK(traffic.operations.at(Operation::all_gather) == 12 * 6);
  CHECK(traffic.operations.at(Operation::reduce_scatter) == 12 * 4);
}

TEST_CASE("gradients of GPT-3 175B are reduced in the sizes of the papers") {
  const ResolvedExperiment resolved = gpt3_layout({{"parallelism.sequence", "true"}});
  const StepPlan plan = plan_layout_step(resolved);
  const std::map<int, int> middle = joins_of(plan, resolved, 3);
  const Collective* bucket = named(plan, middle, "bucket 0", Operation::all_reduce);
  REQUIRE(bucket != nullptr);
  CHECK(bucket->size == Bytes(10'875'691'008));
  CHECK(bucket->group_size == 16);
  CHECK(bucket->groups == 8);
  CHECK(bucket->participants == 128);
  CHECK(named(plan, middle, "bucket 1", Operation::all_reduce) == nullptr);
  CHECK(named(plan, middle, "word embedding gradients", Operation::all_reduce) == nullptr);

  const std::map<int, int> first = joins_of(plan, resolved, 0);
  CHECK(named(plan, first, "bucket 0", Operation::all_reduce)->size == bucket->size + Bytes(4) * 103'809'024);
  const Collective* tied = named(plan, first, "word embedding gradients", Operation::all_reduce);
  REQUIRE(tied != nullptr);
  CHECK(tied->size == Bytes(314'572'800));
  CHECK(tied->group_size == 2);
  CHECK(tied->participants == 256);
  const std::map<int, int> last = joins_of(plan, resolved, 7);
  CHECK(named(plan, last, "word embedding gradients", Operation::all_reduce) == tied);

  const Collective* norms = named(plan, middle, "layer norm gradients", Operation::all_reduce);
  REQUIRE(norms != nullptr);
  CHECK(norms->size == Bytes(3'538'944));
  CHECK(norms->group_size == 8);
}

TEST_CASE("sharded optimizer state turns the reduction into a reduce-scatter and a gathering in 16 bits") {
  const ResolvedExperiment resolved = gpt3_layout({{"parallelism.shard", "optimizer"}});
  const StepPlan plan = plan_layout_step(resolved);
  const std::map<int, int> middle = joins_of(plan, resolved, 3);
  CHECK(named(plan, middle, "bucket 0", Operation::reduce_scatter)->size == Bytes(10'875'691'008));
  CHECK(named(plan, middle, "bucket 0", Operation::all_gather)->size == Bytes(5'437'845'504));
  CHECK(named(plan, middle, "bucket 0", Operation::all_reduce) == nullptr);
}

TEST_CASE("messages between stages have 48 MiB, an eighth with sequence parallelism") {
  for (const Overrides& chunks : {Overrides{}, Overrides{{"parallelism.virtual_stages", "3"}}}) {
    CHECK(message_sizes(plan_layout_step(gpt3_layout(chunks))) == mebibytes_48);
    CHECK(message_sizes(plan_layout_step(gpt3_layout(joined(chunks, {{"parallelism.sequence", "true"}})))) ==
          std::set<double>{6'291'456});
  }
}

TEST_CASE("divided messages have an eighth of the size, and the receiving tensor group gathers the whole") {
  const auto gathers = [](const ResolvedExperiment& resolved, const StepPlan& plan, int stage) {
    int number = 0;
    for (const auto& [collective, times] : joins_of(plan, resolved, stage)) {
      const Collective& one = plan.graph.collectives[at(collective)];
      if (one.label.name != "parts of a message") continue;
      CHECK(one.operation == Operation::all_gather);
      CHECK(one.size.si() == *mebibytes_48.begin());
      CHECK(one.group_size == 8);
      CHECK(times == 96);
      ++number;
    }
    return number;
  };
  const Overrides divided{{"stack.divided_messages", "true"}};
  for (const int chunks : {1, 3}) {
    const ResolvedExperiment resolved =
        gpt3_layout(joined(divided, {{"parallelism.virtual_stages", std::to_string(chunks)}}));
    const StepPlan plan = plan_layout_step(resolved);
    CHECK(message_sizes(plan) == std::set<double>{6'291'456});
    CHECK(gathers(resolved, plan, 0) == 2 * chunks - 1);  // the first chunk receives no activations
    CHECK(gathers(resolved, plan, 3) == 2 * chunks);
    CHECK(gathers(resolved, plan, 7) == 2 * chunks - 1);  // the last one no gradients
  }
  const ResolvedExperiment sequence = gpt3_layout(joined(divided, {{"parallelism.sequence", "true"}}));
  CHECK(gathers(sequence, plan_layout_step(sequence), 3) == 0);
}

TEST_CASE("every message has one sending and one receiving stage, which join it once per micro-batch") {
  for (const char* layout : {"1f1b", "gpipe", "zb_h1", "interleaved"}) {
    Overrides overrides{{"parallelism.pipeline", "4"}, {"parallelism.schedule", layout}};
    if (std::string(layout) == "interleaved") overrides.emplace_back("parallelism.virtual_stages", "2");
    const ResolvedExperiment resolved = small_layout("dgx_a100", 1, overrides);
    const StepPlan plan = plan_layout_step(resolved);
    std::map<int, std::set<int>> stages;  // by message
    for (int stage = 0; stage < 4; ++stage) {
      for (const auto& [number, times] : joins_of(plan, resolved, stage)) {
        const Collective& collective = plan.graph.collectives[at(number)];
        CHECK(times == collective.rounds);
        if (collective.operation != Operation::send_recv) continue;
        CHECK(collective.one_way);
        CHECK(collective.participants == 4);  // two pairs: data is 2
        CHECK(times == 8);
        stages[number].insert(stage);
      }
    }
    CHECK(stages.size() == (std::string(layout) == "interleaved" ? 2 * 7 : 2 * 3));
    for (const auto& [number, both] : stages) CHECK(both.size() == 2);
  }
}

TEST_CASE("the gradients of a tied table are added up between its own stage and that of the projection") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "two_tables.yaml";
  std::ofstream(file) << R"(name: two_tables
layers:
  - input: [8]
  - {name: other, embedding: {entries: 30, features: 4}}
  - {name: a, linear: 4}
  - {name: words, from: input, embedding: {entries: 50, features: 4}}
  - {name: b, add: [words, a]}
  - {name: c, linear: 4}
  - {name: projection, linear: {out: 50, tied: words, bias: false}}
  - softmax_cross_entropy
)";
  const ResolvedExperiment resolved =
      small_job("dgx_a100", 1, {{"model", file.string()}, {"gpus", "3"}},
                {{"parallelism.pipeline", "3"}, {"parallelism.first_layers", "[words, c]"}});
  const StepPlan plan = plan_layout_step(resolved);
  const auto collective = [&](int stage) {
    return named(plan, joins_of(plan, resolved, stage), "words gradients", Operation::all_reduce);
  };
  CHECK(collective(0) == nullptr);
  REQUIRE(collective(1) != nullptr);
  CHECK(collective(2) == collective(1));
  CHECK(collective(1)->participants == 2);
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  CHECK(collective(1)->size == 50.0 * 4 * value);
}

TEST_CASE("parameters of the stages add up to the model and a copy of its tied table") {
  const ResolvedExperiment resolved = gpt3_layout();
  double all = 0;
  for (const RankClass& one : resolved.classes) {
    for (const Layer& layer : one.layers) {
      const double elements = parameter_elements(layer);
      const bool is_whole = layer.split == TensorSplit::tokens || layer.split == TensorSplit::none;
      double copied = is_whole ? elements : 0;
      if (layer.split == TensorSplit::rows) copied = layer.parameters.back().elements;
      all += 8 * (elements - copied) + copied;
    }
  }
  const double table = 51200.0 * 12288;
  CHECK(all == 174'615'846'912 + table);
}

TEST_CASE("twice the nodes with twice the replicas change no kernel and no message") {
  const StepPlan once = plan_layout_step(gpt3_layout({{"nodes", "64"}}));
  const StepPlan twice = plan_layout_step(gpt3_layout());
  REQUIRE(once.op_times.size() == twice.op_times.size());
  for (std::size_t stage = 0; stage < once.op_times.size(); ++stage) {
    REQUIRE(once.op_times[stage].size() == twice.op_times[stage].size());
    for (std::size_t op = 0; op < once.op_times[stage].size(); ++op)
      CHECK(once.op_times[stage][op].duration == twice.op_times[stage][op].duration);
  }
  REQUIRE(once.graph.collectives.size() == twice.graph.collectives.size());
  for (std::size_t i = 0; i < once.graph.collectives.size(); ++i) {
    CHECK(once.graph.collectives[i].size == twice.graph.collectives[i].size);
    CHECK(2 * once.graph.collectives[i].participants == twice.graph.collectives[i].participants);
  }
}
