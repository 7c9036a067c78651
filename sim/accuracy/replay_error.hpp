#pragma once
// The expected error of a replayed trace whose kernels were measured on the same kind of GPU. Kernel times
// then have no error of a model; the rest is missing in a trace of kernels: the host that launches them,
// gaps, input. Steps that were measured both ways say how much that is (measured_replays.hpp). On several
// GPUs the error of communication and of waiting for each other is added, that of published pairs of runs on
// one and on as many GPUs, in which kernel times cancel. Method on one GPU: that of expected_error.hpp. The
// logarithms of replayed / measured are not normal: most are near 0, and those of steps that wait for their
// host far below. The host takes its time for each op, and so the mean time of an op, which a trace has,
// tells which steps may wait: the steps nearest in it count, with their 10 % and 90 % quantiles.

#include "accuracy/expected_error.hpp"
#include "accuracy/measured_replays.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

struct ReplayBounds {
  ErrorBounds bounds;  ///< of the throughput
  int steps = 0;       ///< number of steps it comes from
};

/// On one GPU, for a trace of `model` whose ops of the forward and backward pass take `mean_op`: from the
/// nearest steps of other models, since a model's own steps would make its interval too narrow. If ops are
/// longer than those of all these, a line may stand for several of them, whose host time is unknown: all
/// steps of other models count. Requires steps of another model.
ReplayBounds one_gpu_replay_bounds(const std::vector<MeasuredReplay>& steps, std::string_view model,
                                   Seconds mean_op);

/// The error of the throughput of `of`, whose model may have a length ("bert_base@512") and say which part it
/// is ("llama3_8b with 4 of 32 blocks"). `errors` has the pairs for several GPUs; null if not installed.
/// Nothing if there are too few pairs.
std::optional<ExpectedError> replay_error(const PublishedErrors* errors, const Circumstances& of);

}  // namespace trainyard
