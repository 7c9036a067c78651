#pragma once
// A small run made by hand, so that the writers are tested without an engine: two layers, two ranks, one
// bucket.

#include "run/run.hpp"

#include <utility>
#include <variant>

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

/// Forward 4 ms, backward 4 + 2 ms, optimizer 1 ms on each of two ranks; one 100 MB all-reduce from 8 to 12
/// ms, of which 2 ms are exposed: a step of 13 ms on 2 x 64 samples.
inline Run sample_result() {
  Run run;
  ResolvedExperiment& experiment = run.experiment;
  experiment.name = "tiny";
  experiment.platform.title = "Two GPUs";
  experiment.classes = {{.name = "all ranks", .ranks = {Rank{0}, Rank{1}}, .trace = {}}};
  experiment.classes.front().trace.model = "toy";
  experiment.settings.platform = "pair";
  experiment.settings.stack = "pytorch_ddp";
  experiment.settings.batch_per_gpu = 64;
  experiment.model.emplace().sequence_length = 64;
  run.ranks = 2;
  run.nodes = 1;
  run.pace = {.time = Seconds(0.013),
              .one_rank = Seconds(0.011),
              .global_batch = 128,
              .throughput = 128 / 0.013,
              .speedup = 22.0 / 13,
              .efficiency = 11.0 / 13};
  experiment.samples_per_epoch = 130.2 * run.pace.throughput;
  Step& step = step_in(run);
  step.time = run.pace.time;
  step.lower_bound = Seconds(0.0125);
  step.classes = {{.first = Rank{0},
                   .ops = {},
                   .compute = Seconds(0.011),
                   .slowed = {},
                   .communication = Seconds(0.004),
                   .exposed = Seconds(0.002),
                   .end = Seconds(0.013)}};
  std::vector<OpRow>& ops = step.classes.front().ops;
  step.network_gain = Seconds(0.002);
  run.gpu_utilization = 11.0 / 13;
  run.links.mean = 0.25;
  run.links.most = 0.3;
  run.links.busiest = "node0.gpu0->node0.gpu1";
  run.matrix = MatrixWork{.flops = Flops(44e9), .rate = FlopRate(44e9 / 0.013), .utilization = 0.21};
  run.memory = std::vector<MemoryReport>(1);
  MemoryReport& memory = run.memory->front();
  memory.ranks = "all ranks";
  memory.terms = {.parameters = Bytes(4e8),
                  .gradients = Bytes(4e8),
                  .optimizer_state = Bytes(8e8),
                  .activations = Bytes(3e9),
                  .workspace = Bytes(1e7),
                  .context = Bytes(3e8),
                  .gradient_buckets = Bytes(4e8),
                  .communication_buffers = Bytes(5e7)};
  memory.peak = total(memory.terms);
  memory.capacity = Bytes(16e9);
  memory.utilization = memory.peak / memory.capacity;
  memory.batch_per_gpu = 64;
  memory.largest_batch = 290;
  memory.of_one_sample = memory.terms;
  memory.of_one_sample.activations = Bytes(5e7);
  memory.gpu = "toy_gpu";
  memory.assumptions = {"memory: 10 MB of workspace are assumed"};
  run.energy = EnergyUse{.per_step = Joules(6.5), .average = Watts(500)};
  run.cost = EpochCost{.per_epoch = Dollars(0.1107), .per_node_hour = Dollars(3.06), .date = "2020-09"};
  run.compute_sources = {.measured = 0.75, .fitted = 0, .roofline = 0.25};

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
  step.collectives.push_back({.name = "bucket 0",
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
                              .busbw = Bandwidth(2.5e10)});
  for (const int rank : {0, 1}) {
    run.rank_rows.push_back({.rank = Rank{rank},
                             .node = NodeId{0},
                             .gpu = "gpu" + std::to_string(rank),
                             .compute = Seconds(0.011),
                             .communication = Seconds(0.004),
                             .end = Seconds(0.013)});
    for (int op = 0; op < 4; ++op) {
      const OpRow& row = ops.at(static_cast<std::size_t>(op));
      step.bars.push_back({.rank = Rank{rank},
                           .stream = Stream::compute,
                           .category = std::string(config::name_of(row.phase)),
                           .start = row.start,
                           .end = row.end,
                           .op = op});
    }
    step.bars.push_back({.rank = Rank{rank},
                         .stream = Stream::communication,
                         .is_collective = true,
                         .category = "communication",
                         .start = Seconds(0.008),
                         .end = Seconds(0.012),
                         .collective = 0});
  }
  run.links.rows.push_back({.name = "node0.gpu0->node0.gpu1",
                            .capacity = Bandwidth(2.5e10),
                            .bytes = Bytes(1e8),
                            .utilization = 0.3});
  run.events = 42;
  return run;
}

}  // namespace trainyard
