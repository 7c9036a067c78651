#pragma once
// A small result made by hand, so that the writers are tested without an engine: two layers, two ranks, one
// bucket.

#include "run/result.hpp"

namespace trainyard {

/// Forward 4 ms, backward 4 + 2 ms, optimizer 1 ms on each of two ranks; one 100 MB all-reduce from 8 to 12
/// ms, of which 2 ms are exposed: a step of 13 ms on 2 x 64 samples.
inline Result sample_result() {
  Result result;
  result.experiment = "tiny";
  result.platform_title = "Two GPUs";
  result.model = "toy";
  result.resolved.platform = "pair";
  result.resolved.stack = "pytorch_ddp";
  result.resolved.batch_per_gpu = 64;
  result.ranks = 2;
  result.nodes = 1;
  result.fidelity = "flow";
  result.global_batch = 128;
  result.step_time = Seconds(0.013);
  result.one_rank_step_time = Seconds(0.011);
  result.lower_bound = Seconds(0.0125);
  result.compute_time = Seconds(0.011);
  result.communication_time = Seconds(0.004);
  result.exposed_communication = Seconds(0.002);
  result.throughput = 128 / 0.013;
  result.speedup = 22.0 / 13;
  result.scaling_efficiency = 11.0 / 13;
  result.communication_overhead = Seconds(0.002);
  result.gpu_utilization = 11.0 / 13;
  result.network_utilization = 0.25;
  result.link_utilization_max = 0.3;
  result.busiest_link = "node0.gpu0->node0.gpu1";
  result.model_flops = Flops(44e9);
  result.achieved_flops_per_gpu = FlopRate(44e9 / 0.013);
  result.model_flops_utilization = 0.21;
  result.epoch_time = Seconds(130.2);
  result.matrix_dtype = "fp32";
  result.network_gain = Seconds(0.002);
  result.tokens_per_second = 64 * result.throughput;
  MemoryReport& memory = result.memory.emplace();
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
  result.energy_per_step = Joules(6.5);
  result.average_power = Watts(500);
  result.cost = {.per_epoch = Dollars(0.1107), .per_node_hour = Dollars(3.06), .date = "2020-09"};
  result.compute_source_shares = {.measured = 0.75, .fitted = 0, .roofline = 0.25};

  const auto layer = [&](Phase phase, const char* name, OpKind kind, double start_ms, double end_ms) {
    result.layers.push_back({.phase = phase,
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
  result.collectives.push_back({.name = "bucket 0",
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
    result.rank_rows.push_back({.rank = Rank{rank},
                                .node = NodeId{0},
                                .gpu = "gpu" + std::to_string(rank),
                                .compute = Seconds(0.011),
                                .communication = Seconds(0.004),
                                .end = Seconds(0.013)});
    for (int op = 0; op < 4; ++op) {
      const LayerRow& row = result.layers.at(static_cast<std::size_t>(op));
      result.timeline.push_back({.rank = Rank{rank},
                                 .stream = Stream::compute,
                                 .category = std::string(config::name_of(row.phase)),
                                 .start = row.start,
                                 .end = row.end,
                                 .op = op});
    }
    result.timeline.push_back({.rank = Rank{rank},
                               .stream = Stream::communication,
                               .category = "communication",
                               .start = Seconds(0.008),
                               .end = Seconds(0.012),
                               .collective = 0});
  }
  result.links.push_back({.name = "node0.gpu0->node0.gpu1",
                          .capacity = Bandwidth(2.5e10),
                          .bytes = Bytes(1e8),
                          .utilization = 0.3});
  result.events = 42;
  return result;
}

}  // namespace trainyard
