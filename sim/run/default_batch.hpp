#pragma once
// The batch of an experiment that has no file and whose command line names none.

#include "experiment/resolve.hpp"

#include <optional>

namespace trainyard {

/// Samples per GPU that a batch is not chosen above.
inline constexpr int most_default_batch = 64;

/// Samples of the trace that `overrides` name; empty if they name none, or it does not say how many. Throws
/// as read_trace().
std::optional<int> batch_of_trace(const Overrides& overrides);

struct DefaultBatch {
  int samples = 1;
  bool fits = false;  ///< false: none does, or memory is not known
};

/// The largest power of two up to most_default_batch with which the step fits into its GPUs; 1 if none does.
/// Empty if `overrides` set the batch. They are those of an experiment without a file. Throws as resolve().
std::optional<DefaultBatch> default_batch(const config::Catalogue& catalogue, const Overrides& overrides);

}  // namespace trainyard
