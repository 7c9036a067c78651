#pragma once
// A small run made by hand, so that the writers are tested without an engine: two layers, two ranks, one
// bucket.

#include "run/run.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

/// The steady step of a run made by hand, and the updates of one that is given some.
inline Step& step_in(Run& run) { return std::get<Step>(run.what); }
inline Updates& updates_in(Run& run) {
  if (auto* step = std::get_if<Step>(&run.what)) {
    Updates updates;
    updates.steady = std::move(*step);
    run.what = std::move(updates);
  }
  return std::get<Updates>(run.what);
}

namespace sample {

inline MemoryReport memory() {
  MemoryReport memory{.ranks = "all ranks",
                      .terms = {.parameters = Bytes(4e8),
                                .gradients = Bytes(4e8),
                                .optimizer_state = Bytes(8e8),
                                .activations = Bytes(3e9),
                                .workspace = Bytes(1e7),
                                .context = Bytes(3e8),
                                .gradient_buckets = Bytes(4e8),
                                .communication_buffers = Bytes(5e7)},
                      .of_least_batch = {},
                      .peak = {},
                      .capacity = Bytes(16e9),
                      .available = Bytes(16e9),
                      .batch_per_gpu = 64,
                      .gpu = "toy_gpu",
                      .assumptions = {"memory: 10 MB of workspace are assumed"}};
  memory.peak = total(memory.terms);
  memory.utilization = memory.peak / memory.capacity;
  memory.largest_batch = 290;
  memory.of_least_batch = memory.terms;
  memory.of_least_batch.activations = Bytes(5e7);
  return memory;
}

inline std::vector<OpRow> ops() {
  std::vector<OpRow> ops;
  const auto layer = [&](Phase phase, const char* name, OpKind kind, double start_ms, double end_ms) {
    ops.push_back({.phase = phase,
                   .layer = name,
                   .kind = kind,
                   .shape = "n64",
                   .flops = Flops(1e9),
                   .bytes = Bytes(2e6),
                   .parameter_bytes = Bytes(4e3),
                   .duration = Seconds((end_ms - start_ms) / 1e3),
                   .source = ComputeSource::measured,
                   .start = Seconds(start_ms / 1e3),
                   .end = Seconds(end_ms / 1e3)});
  };
  layer(Phase::forward, "conv1", OpKind::conv_forward, 0, 4);
  layer(Phase::backward, "fc", OpKind::gemm, 4, 8);
  layer(Phase::backward, "conv1", OpKind::conv_wgrad, 8, 10);
  layer(Phase::optimizer, "all", OpKind::optimizer, 12, 13);
  return ops;
}

inline CollectiveRow bucket() {
  return {.name = "bucket 0",
          .purpose = "gradients",
          .operation = Operation::all_reduce,
          .algorithm = "ring",
          .protocol = "Simple",
          .channels = 6,
          .size = Bytes(1e8),
          .tensors = 3,
          .ready_after = "fc",
          .ready = Seconds(0.008),
          .start = Seconds(0.008),
          .end = Seconds(0.012),
          .bound = Seconds(0.003),
          .algbw = Bandwidth(2.5e10),
          .busbw = Bandwidth(2.5e10)};
}

/// A rank of a class runs its ops and the collective.
inline void add_bars(Step& step, int rank, int rank_class) {
  const std::vector<OpRow>& ops = step.classes.at(static_cast<std::size_t>(rank_class)).ops;
  for (int op = 0; op < static_cast<int>(ops.size()); ++op) {
    const OpRow& row = ops.at(static_cast<std::size_t>(op));
    step.bars.push_back({.rank = Rank{rank},
                         .stream = Stream::compute,
                         .category = std::string(config::name_of(row.phase)),
                         .start = row.start,
                         .end = row.end,
                         .rank_class = rank_class,
                         .op = op});
  }
  const CollectiveRow& bucket = step.collectives.front();
  step.bars.push_back({.rank = Rank{rank},
                       .stream = Stream::communication,
                       .is_collective = true,
                       .category = "communication",
                       .start = bucket.start,
                       .end = bucket.end,
                       .rank_class = rank_class,
                       .collective = 0});
}

inline Step step() {
  Step step;
  step.time = Seconds(0.013);
  step.lower_bound = Seconds(0.0125);
  step.network_gain = Seconds(0.002);
  step.classes = {{.name = "all ranks",
                   .first = Rank{0},
                   .ops = ops(),
                   .compute = Seconds(0.011),
                   .slowed = {},
                   .communication = Seconds(0.004),
                   .exposed = Seconds(0.002),
                   .end = Seconds(0.013)}};
  step.collectives = {bucket()};
  for (const int rank : {0, 1}) add_bars(step, rank, 0);
  return step;
}

}  // namespace sample

/// Forward 4 ms, backward 4 + 2 ms, optimizer 1 ms on each of two ranks; one 100 MB all-reduce from 8 to 12
/// ms, of which 2 ms are exposed: a step of 13 ms on 2 x 64 samples.
namespace sample {
inline PublishedError published_run() {
  return {.of = {.use = {.framework = "pytorch", .stack = "toy_ddp", .model = "toy", .precision = "fp32"},
                 .platform = "toy",
                 .gpus = 8,
                 .nodes = 1,
                 .batch_per_gpu = 64},
          .series = 1,
          .measured = 900,
          .predicted = 1000,
          .place = "toy.csv:2"};
}
}  // namespace sample

inline Run sample_result() {
  Run run;
  ResolvedExperiment& experiment = run.experiment;
  experiment.name = "tiny";
  experiment.platform.name = "two";
  experiment.platform.title = "Two GPUs";
  experiment.classes = {{.name = "all ranks", .ranks = {Rank{0}, Rank{1}}, .trace = {}}};
  experiment.settings.platform = "pair";
  experiment.settings.stack = "pytorch_ddp";
  experiment.settings.batch_per_gpu = 64;
  experiment.model.emplace().name = "toy";
  experiment.model->sequence_length = 64;
  run.ranks = 2;
  run.nodes = 1;
  run.pace = {.time = Seconds(0.013),
              .one_rank = Seconds(0.011),
              .global_batch = 128,
              .throughput = 128 / 0.013,
              .speedup = 22.0 / 13,
              .efficiency = 11.0 / 13};
  experiment.samples_per_epoch = 130.2 * run.pace.throughput;
  run.what = sample::step();
  run.gpu_utilization = 11.0 / 13;
  run.links.mean = 0.25;
  run.links.most = 0.3;
  run.links.busiest = "node0.gpu0->node0.gpu1";
  run.matrix = MatrixWork{.flops = Flops(44e9), .rate = FlopRate(44e9 / 0.013), .utilization = 0.21};
  run.memory = std::vector{sample::memory()};
  run.expected_error =
      ExpectedError{.low = -0.12, .high = 0.08, .runs = 12, .nearest = sample::published_run()};
  run.predicted_job =
      PredictedJob{.of = sample::published_run().of, .fit = "software", .software_fit = "software"};
  run.energy = EnergyUse{.per_step = Joules(6.5), .average = Watts(500)};
  run.cost = EpochCost{.per_epoch = Dollars(0.1107), .per_node_hour = Dollars(3.06), .date = "2020-09"};
  run.compute_sources = {.measured = 0.75, .fitted = 0, .roofline = 0.25};
  for (const int rank : {0, 1}) {
    run.rank_rows.push_back({.rank = Rank{rank},
                             .node = NodeId{0},
                             .gpu = "gpu" + std::to_string(rank),
                             .compute = Seconds(0.011),
                             .communication = Seconds(0.004),
                             .end = Seconds(0.013)});
  }
  run.links.rows.push_back({.name = "node0.gpu0->node0.gpu1",
                            .capacity = Bandwidth(2.5e10),
                            .bytes = Bytes(1e8),
                            .utilization = 0.3});
  run.events = 42;
  return run;
}

/// The same with a class for each rank: stage 0 is the sample's; stage 1, rank 1, has one op less, ends
/// earlier and needs half of the memory.
inline Run two_class_result() {
  Run run = sample_result();
  run.experiment.classes = {{.name = "stage 0", .ranks = {Rank{0}}, .trace = {}},
                            {.name = "stage 1", .ranks = {Rank{1}}, .trace = {}}};
  Step& step = step_in(run);
  step.classes.front().name = "stage 0";
  ClassStep& second = step.classes.emplace_back(step.classes.front());
  second.name = "stage 1";
  second.first = Rank{1};
  second.end = Seconds(0.0125);
  second.compute = Seconds(0.010);
  second.ops.erase(second.ops.begin());
  second.ops.front().layer = "fc2";
  step.bars.clear();
  for (const int rank : {0, 1}) sample::add_bars(step, rank, rank);
  MemoryReport less = run.memory->front();
  run.memory->front().ranks = "stage 0";
  less.ranks = "stage 1";
  less.utilization /= 2;
  run.memory->push_back(less);
  return run;
}

}  // namespace trainyard
