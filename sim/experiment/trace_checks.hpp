#pragma once
// Whether traces agree with the experiment that replays them. All functions but without_8_bits() throw
// InputError.

#include "config/diagnostic.hpp"
#include "strategy/rank_class.hpp"
#include "strategy/stack.hpp"
#include "workload/trace.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// Refuses keys of a model among those that the experiment sets in its files.
void require_no_model_keys(const std::map<std::string, std::string>& set);

/// The samples of an epoch, as the traces before this one and this one state them; requires that they agree.
std::optional<double> same_samples(std::optional<double> before, std::optional<double> stated);

/// Requires the batch of the trace, if it states one.
void check_batch(const Trace& trace, int batch_per_gpu);

/// Requires the precision of the trace, if it states one.
void check_precision(const Trace& trace, Precision precision);

/// Requires the micro-batches of the trace; one micro-batch can be repeated.
void check_accumulation(const Trace& trace, int accumulation);

/// Refuses products in 8 bits in a step whose precision is not fp8, at the line of the first.
void require_no_8_bits(const RankClass& one, Precision precision);

/// A warning if a step in fp8 has matrix products, but none in 8 bits.
std::optional<Diagnostic> without_8_bits(const std::vector<RankClass>& classes, Precision precision);

/// Refuses messages: a single trace is that of all ranks, and they run the two ends at different ops.
void require_no_messages(const RankClass& one);

/// Refuses gradients that are complete in several micro-batches, unless the stack reduces them in each.
void check_reductions(const Trace& trace, const Stack& stack);

}  // namespace trainyard
