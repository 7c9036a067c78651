#include "strategy/class_sampling.hpp"

#include "strategy/layer_division.hpp"
#include "strategy/transfer.hpp"
#include "workload/make_trace.hpp"
#include "workload/memory.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr int features = 512;
constexpr int classes_of_rank = 125'000;
constexpr int classes_drawn = 12'500;

/// The head of face recognition with a tenth of a million classes on each of eight ranks.
ShardedModel sampled_head(double sample) {
  constexpr int ranks = 8;
  constexpr int classes = ranks * classes_of_rank;
  std::vector<Layer> layers{linear_layer("embedding", features, features),
                            linear_layer("fc", {1, features, classes}, false),
                            softmax_cross_entropy_layer("loss", classes)};
  return divide_among_replicas({.layers = std::move(layers), .transfers = {}},
                               {{.match = "fc", .sample = sample}}, {ranks});
}

Trace trace_of(const ShardedModel& model, Precision precision) {
  Trace trace = make_trace({.name = "face", .title = {}, .layers = model.layers, .samples_per_epoch = {}},
                           128, precision, Optimizer::sgd);
  add_transfers(trace, model.layers, model.transfers);
  add_sampling(trace, model.layers);
  return trace;
}

std::vector<std::string> names_of(const Trace& trace, Phase phase) {
  std::vector<std::string> names;
  for (const Op& op : trace.ops) {
    if (op.phase == phase) names.push_back(op.layer);
  }
  return names;
}

const Op& op_named(const Trace& trace, const std::string& name) {
  return *std::ranges::find(trace.ops, name, &Op::layer);
}

}  // namespace

TEST_CASE("rows are drawn once inputs and labels are there, and copied together before they are cast") {
  const Trace trace = trace_of(sampled_head(0.1), Precision::amp);
  CHECK(names_of(trace, Phase::forward) == std::vector<std::string>{"embedding.cast", "embedding", "fc.draw",
                                                                    "fc.gather", "fc.cast", "fc", "loss"});
  CHECK(names_of(trace, Phase::backward) == std::vector<std::string>{"loss", "fc", "fc", "fc.cast",
                                                                     "fc.scatter", "embedding", "embedding",
                                                                     "embedding.cast"});
  const std::vector<OpCommunication>& first = op_named(trace, "fc.draw").communications;
  REQUIRE(first.size() == 2);
  CHECK(first[0].size == Bytes(2.0 * 8 * 128 * features));
  CHECK(first[1].size == Bytes(8.0 * 8 * 128));
  for (const OpCommunication& one : first) CHECK(one.at == LaunchTime::start);
}

TEST_CASE("the work of sampling, and an update of all rows") {
  const Trace trace = trace_of(sampled_head(0.1), Precision::fp32);
  constexpr double drawn = 1.0 * classes_drawn * features;
  constexpr double all = 1.0 * classes_of_rank * features;
  CHECK(op_named(trace, "fc.draw").bytes == Bytes(6.0 * 4 * classes_of_rank));
  CHECK(op_named(trace, "fc.gather").bytes == Bytes(2 * 4 * drawn));
  CHECK(op_named(trace, "fc.scatter").bytes == Bytes(4 * (all + 3 * drawn)));
  REQUIRE(op_named(trace, "fc.scatter").gradients.size() == 1);
  CHECK(op_named(trace, "fc.scatter").gradients.front().elements == all);
  CHECK(op_named(trace, "fc").gradients.empty());
  CHECK(op_named(trace, "fc").flops == 2.0 * 8 * 128 * Flops(drawn));
  CHECK(op_named(trace, "fc").bytes == Bytes(4.0 * (8 * 128 * features + 8.0 * 128 * classes_drawn + drawn)));
  const Op& update = op_named(trace, "optimizer");
  CHECK(std::get<VectorShape>(update.shape).elements == all + features * features + features);
}

TEST_CASE("a rank keeps the whole table and its state besides the drawn rows") {
  const auto terms = [](double sample) {
    return memory_per_rank(sampled_head(sample).layers, {.batch = 128, .optimizer = Optimizer::momentum});
  };
  const MemoryTerms whole = terms(1);
  const MemoryTerms drawn = terms(0.1);
  CHECK(drawn.gradients == whole.gradients);
  CHECK(drawn.optimizer_state == whole.optimizer_state);
  CHECK(drawn.parameters - whole.parameters == Bytes(4.0 * classes_drawn * features));
  // Probabilities are kept, and the largest pair of gradients is that of the products.
  CHECK(whole.activations - drawn.activations == 2 * Bytes(512e6 - 51.2e6));
}

TEST_CASE("without sampling nothing is added") {
  const ShardedModel model = sampled_head(1);
  const Trace trace = trace_of(model, Precision::fp32);
  CHECK(std::ranges::none_of(trace.ops, [](const Op& op) { return op.layer == "fc.draw"; }));
}
