#pragma once
// Pipelines of stages made by hand: each pass is one kernel of a given time, each message takes a given time
// whoever else sends. Their steps have closed forms.

#include "engine/engine.hpp"
#include "schedule/layout_program.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard::testing {

struct HandMadePipeline {
  PipelineSchedule schedule{};
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  ///< per stage
};

/// The time of a pass through one chunk.
using TimeOfPass = std::function<Seconds(PassKind kind, int stage)>;

inline bool splits_backward(const HandMadePipeline& pipeline) {
  return traits(pipeline.schedule).splits_backward;
}

/// The class of a stage: one op for each kind of pass and chunk.
inline RankClass hand_made_stage(const HandMadePipeline& pipeline, int stage) {
  RankClass one{
      .name = "stage " + std::to_string(stage), .ranks = {Rank{stage}}, .trace = {}, .stage = stage};
  const auto add = [&](PassKind kind) {
    for (int chunk = 0; chunk < pipeline.chunks; ++chunk) {
      Op op;
      op.phase = kind == PassKind::forward ? Phase::forward : Phase::backward;
      op.layer = "chunk " + std::to_string(chunk);
      op.kind = OpKind::measured;
      const auto number = static_cast<int>(one.trace.ops.size());
      one.passes.push_back({kind, chunk, number, number + 1});
      one.trace.ops.push_back(op);
    }
  };
  add(PassKind::forward);
  add(PassKind::backward);
  if (splits_backward(pipeline)) add(PassKind::weights);
  return one;
}

inline RankLayout hand_made_layout(const HandMadePipeline& pipeline) {
  Parallelism parallelism{
      .pipeline = pipeline.stages, .virtual_stages = pipeline.chunks, .schedule = pipeline.schedule};
  return {.parallelism = parallelism,
          .grid = make_grid(parallelism, pipeline.stages),
          .schedule = pipeline.schedule,
          .micro_batches = pipeline.micro_batches,
          .boundaries = {}};
}

/// The messages of all stages, by stage and chunk; each takes `latency`.
inline std::vector<StageCollectives> hand_made_messages(const HandMadePipeline& pipeline, Seconds latency,
                                                        TaskGraph& graph) {
  std::vector<StageCollectives> all(at(pipeline.stages));
  for (StageCollectives& one : all) one.messages.resize(at(pipeline.chunks));
  const auto message = [&] {
    graph.collectives.push_back({.operation = Operation::send_recv,
                                 .size = Bytes(1),
                                 .participants = 2,
                                 .group_size = 2,
                                 .one_way = true,
                                 .rounds = pipeline.micro_batches,
                                 .overhead = latency,
                                 .phases = {}});
    return static_cast<int>(graph.collectives.size()) - 1;
  };
  const ChunkPlaces places = chunk_places(hand_made_layout(pipeline));
  const auto messages_of = [&](int chunk) -> StageCollectives::Messages& {
    return all[at(places.stage_of(chunk))].messages[at(places.number_of(chunk))];
  };
  for (int chunk = 0; chunk + 1 < pipeline.stages * pipeline.chunks; ++chunk) {
    if (places.stage_of(chunk) == places.stage_of(chunk + 1)) continue;
    StageCollectives::Messages& from = messages_of(chunk);
    StageCollectives::Messages& to = messages_of(chunk + 1);
    from.send_forward = to.receive_forward = message();
    to.send_backward = from.receive_backward = message();
  }
  return all;
}

inline TaskGraph hand_made_graph(const HandMadePipeline& pipeline, const TimeOfPass& time,
                                 Seconds latency = {}, const LayoutOverlap& overlap = {.messages = true}) {
  TaskGraph graph;
  const RankLayout layout = hand_made_layout(pipeline);
  const std::vector<StageCollectives> messages = hand_made_messages(pipeline, latency, graph);
  for (int stage = 0; stage < pipeline.stages; ++stage) {
    const RankClass one = hand_made_stage(pipeline, stage);
    std::vector<OpTime> times(one.trace.ops.size());
    for (const PassOps& pass : one.passes) times[at(pass.first)].duration = time(pass.kind, stage);
    graph.program_of_rank.push_back(stage);
    graph.programs.push_back(stage_program(one, layout, times, messages[at(stage)], overlap, graph));
  }
  return graph;
}

/// Seconds of a step. Throws EngineError if the stages wait for each other for ever.
inline double hand_made_step(const HandMadePipeline& pipeline, const TimeOfPass& time, Seconds latency = {},
                             const LayoutOverlap& overlap = {.messages = true}) {
  return run(hand_made_graph(pipeline, time, latency, overlap),
             {.fidelity = Fidelity::closed, .recorded = {}})
      .makespan.si();
}

/// Equal stages with these times of a micro-batch through all chunks of one.
inline TimeOfPass equal_stages(const HandMadePipeline& pipeline, const PassTimes& times) {
  return [times, chunks = pipeline.chunks](PassKind kind, int) {
    const Seconds whole = kind == PassKind::forward    ? times.forward
                          : kind == PassKind::backward ? times.backward
                                                       : times.weights;
    return whole / chunks;
  };
}

/// All pipelines of up to 8 stages, 16 micro-batches and 4 chunks.
inline std::vector<HandMadePipeline> small_hand_made_pipelines() {
  std::vector<HandMadePipeline> result;
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      for (const PipelineSchedule schedule :
           {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1})
        result.push_back({schedule, p, m});
      for (int v = 2; v <= 4 && p > 1 && m % p == 0; ++v)
        result.push_back({PipelineSchedule::interleaved, p, m, v});
      for (const PipelineSchedule schedule :
           {PipelineSchedule::zb_v, PipelineSchedule::v_half, PipelineSchedule::v_min}) {
        if (p > 1) result.push_back({schedule, p, m, 2});
      }
      if (p > 1 && m >= 2 * p) result.push_back({PipelineSchedule::dualpipe_v, p, m, 2});
    }
  }
  return result;
}

}  // namespace trainyard::testing
