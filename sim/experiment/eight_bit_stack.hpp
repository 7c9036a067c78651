#pragma once
// Which stacks train in 8 bits (precision fp8), and with which scales.

#include "experiment/overrides.hpp"
#include "experiment/resolved_experiment.hpp"

#include <optional>

namespace trainyard {

/// Throws InputError if the precision is fp8 and the stack has no products in 8 bits. Traces have their own
/// types.
void require_8_bits_of_stack(const ResolvedExperiment& resolved);

/// The error of scales that are set and that no product has: in another precision, or in blocks on a GPU
/// without them. `set`: the keys of files that the experiment and the command line set.
std::optional<Diagnostic> unused_scales(const ResolvedExperiment& resolved, const FileOverrides& set);

}  // namespace trainyard
