#include "strategy/pipeline_order.hpp"

#include "strategy/v_schedules.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace trainyard {

namespace {

std::vector<Pass> gpipe(int micro_batches) {
  std::vector<Pass> passes;
  for (int i = 0; i < micro_batches; ++i) passes.push_back({PassKind::forward, i});
  for (int i = 0; i < micro_batches; ++i) passes.push_back({PassKind::backward, i});
  return passes;
}

/// Forward passes before the first backward pass of 1f1b and zb_h1: the first micro-batch's way to the last
/// stage and back.
int warm_up(int stages, int micro_batches, int stage) { return std::min(stages - stage - 1, micro_batches); }

/// Forward passes of `forward` before the others; then one of each in turn.
std::vector<Pass> alternating(const std::vector<Pass>& forward, const std::vector<Pass>& backward,
                              int before) {
  const auto ahead = static_cast<std::ptrdiff_t>(before);
  std::vector<Pass> passes(forward.begin(), forward.begin() + ahead);
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (i + at(before) < forward.size()) passes.push_back(forward[i + at(before)]);
    passes.push_back(backward[i]);
  }
  return passes;
}

/// A rank takes `group` micro-batches through its first chunk, then through the next. Backward visits the
/// chunks in reverse.
std::vector<Pass> turns(PassKind kind, int group, int chunks, int micro_batches) {
  std::vector<Pass> passes;
  for (int first = 0; first < micro_batches; first += group) {
    for (int turn = 0; turn < chunks; ++turn) {
      for (int i = first; i < first + group; ++i)
        passes.push_back({kind, i, kind == PassKind::forward ? turn : chunks - 1 - turn});
    }
  }
  return passes;
}

int interleaved_warm_up(int stages, int chunks, int micro_batches, int stage) {
  return std::min(2 * (stages - stage - 1) + (chunks - 1) * stages, chunks * micro_batches);
}

/// The order of 1f1b, with the gradients of the weights where stages would wait: later on later stages, so
/// that all keep as many micro-batches as the first one.
std::vector<Pass> zb_h1(int stages, int micro_batches, int stage) {
  std::vector<Pass> passes;
  const int before = warm_up(stages, micro_batches, stage);
  for (int i = 0; i < before; ++i) passes.push_back({PassKind::forward, i});
  int weights = 0;
  for (int i = 0; i < micro_batches; ++i) {
    const bool has_forward = before + i < micro_batches;
    if (has_forward) passes.push_back({PassKind::forward, before + i});
    passes.push_back({PassKind::backward, i});
    if (!has_forward || i >= stage) passes.push_back({PassKind::weights, weights++});
  }
  while (weights < micro_batches) passes.push_back({PassKind::weights, weights++});
  return passes;
}

/// Along an order whose backward passes are split.
int most_kept(const std::vector<Pass>& passes) {
  int kept = 0;
  int most = 0;
  for (const Pass& pass : passes) {
    if (pass.kind == PassKind::forward) most = std::max(most, ++kept);
    if (pass.kind == PassKind::weights) --kept;
  }
  return most;
}

}  // namespace

PipelineSchedule schedule_of(const Parallelism& parallelism) {
  return parallelism.schedule.value_or(parallelism.virtual_stages > 1 ? usual_with_virtual_stages
                                                                      : usual_schedule);
}

std::vector<Pass> pass_order(PipelineSchedule schedule, int stages, int virtual_stages, int micro_batches,
                             int stage, int ahead) {
  assert(stage >= 0 && stage < stages);
  assert(traits(schedule).has_virtual_stages || virtual_stages == 1);
  if (traits(schedule).is_v) return v_order(schedule, stages, micro_batches, stage);
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return gpipe(micro_batches);
    case PipelineSchedule::zb_h1:
      return zb_h1(stages, micro_batches, stage);
    case PipelineSchedule::one_f_one_b:
      return alternating(turns(PassKind::forward, micro_batches, 1, micro_batches),
                         turns(PassKind::backward, micro_batches, 1, micro_batches),
                         std::min(warm_up(stages, micro_batches, stage) + ahead, micro_batches));
    default:
      break;
  }
  assert(micro_batches % stages == 0);
  return alternating(turns(PassKind::forward, stages, virtual_stages, micro_batches),
                     turns(PassKind::backward, stages, virtual_stages, micro_batches),
                     std::min(interleaved_warm_up(stages, virtual_stages, micro_batches, stage) + ahead,
                              virtual_stages * micro_batches));
}

Seconds ideal_time(int micro_batches, const PassTimes& times) {
  return (times.forward + times.backward + times.weights) * micro_batches;
}

Seconds bubble(PipelineSchedule schedule, int stages, int virtual_stages, const PassTimes& times) {
  if (traits(schedule).splits_backward)
    return (times.forward + times.backward - times.weights) * (stages - 1);
  return (times.forward + times.backward + times.weights) * (stages - 1) / virtual_stages;
}

int kept_micro_batches(PipelineSchedule schedule, int stages, int virtual_stages, int micro_batches,
                       int stage, int ahead) {
  if (traits(schedule).is_v) return most_kept(v_order(schedule, stages, micro_batches, stage));
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return micro_batches;
    case PipelineSchedule::one_f_one_b:
      return std::min(micro_batches, stages - stage + ahead);
    case PipelineSchedule::interleaved:
      return std::min(virtual_stages * micro_batches,
                      interleaved_warm_up(stages, virtual_stages, micro_batches, stage) + 1 + ahead);
    default:
      break;
  }
  return std::min(micro_batches, stages);
}

}  // namespace trainyard
