#pragma once
// The expected error of a replayed trace whose kernels were measured on the same kind of GPU. Kernel times
// then have no error of a model; the rest is missing in a trace of kernels: the host that launches them,
// gaps, input. Steps that were measured both ways say how much that is. On several GPUs the error of
// communication and of waiting for each other is added, that of published pairs of runs on one and on as many
// GPUs, in which kernel times cancel.

#include "accuracy/expected_error.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace trainyard {

/// One training step on one GPU: without a profiler, and as the replay of its trace.
struct MeasuredReplay {
  std::string_view model;
  double measured = 0, replayed = 0;  ///< in ms
};

/// Own measurements on one H100, 2026-11-28, PyTorch 2.11 (docs/traces.md); their traces are
/// workloads/traces.
inline constexpr std::array replayed_steps{MeasuredReplay{"resnet50", 34.49, 33.14},
                                           MeasuredReplay{"bert_base", 54.03, 44.60},
                                           MeasuredReplay{"gpt2_small", 86.04, 83.49},
                                           MeasuredReplay{"llama3_8b with 4 of 32 blocks", 165.02, 162.47}};

/// On one GPU: the interval in which one more step lies with the probability `expected_share`, if logarithms
/// of measured / predicted are normal (Student's t with one degree of freedom less than there are steps). It
/// is wide, since four steps say little.
ErrorBounds one_gpu_replay_bounds();

/// The error of the throughput of `of`. `errors` has the pairs for several GPUs; null if not installed.
/// Nothing if there are too few pairs.
std::optional<ExpectedError> replay_error(const PublishedErrors* errors, const Circumstances& of);

}  // namespace trainyard
