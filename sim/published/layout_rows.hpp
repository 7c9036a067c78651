#pragma once
// Rows whose ranks share a model: their columns become the layout, batch and figure of a case.

#include "published/case.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Another row gives the time of the same run.
inline constexpr std::string_view given_as_time = "another row gives the time of the same run";

/// Degrees and replicas that a row states have another product than its GPUs: it states no layout.
inline constexpr std::string_view contradicts_gpus = "the layout does not multiply to the number of GPUs";

/// Why no layout here can represent the row; empty if one can.
std::string layout_refusal(const PublishedRow& row);

/// The series of a row: source, model, GPU, framework and precision.
std::string layout_series(const PublishedRow& row);

/// Whether the sizes of the row's model are known: it states layers and hidden, a rule for models matches, or
/// its model has the name of one of the models `shipped`, however the words are joined ("LLAMA2-7B (LoRA)").
bool knows_sizes(const PublishedRow& row, const RunRules& rules, const std::vector<std::string>& shipped);

/// Fills in layout, batch and precision from the row's columns and the settings of its rules, which must be
/// known. read_layout_speed() fills in a throughput. Both return the reason if that is impossible, or an
/// empty text.
std::string read_layout_columns(Case& run);
std::string read_layout_speed(Case& run);

/// The columns that figures of one run share: everything but metric, value and notes.
std::string identity_of(const PublishedRow& row);

/// Whether the row states how long a step takes, directly or as a throughput.
bool is_time(const PublishedRow& row);

/// Operations of one sample in forward and backward passes of a decoder as in GPT-2 or GPT-3: 72 s L h^2 (1 +
/// s/(6h) + V/(12 L h)), and with `repeats_forward` 96 s L h^2 (1 + s/(6h) + V/(16 L h)). Source: Narayanan
/// et al. 2021, arXiv 2104.04473, equation 3 (with repetition).
double flops_of_sample(const LayoutColumns& sizes, double sequence, bool repeats_forward);

}  // namespace trainyard
