#pragma once
// GPU profiles with little more than memory and a peak rate: missing figures are scaled from another profile
// and count as assumed.

#include "compute/gpu_profile.hpp"
#include "config/problems.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// The profile that short ones are scaled from unless they name another (key `like`): products and attention
/// of the A100 are fitted, and it has the units of all later GPUs but fp8.
inline constexpr std::string_view usual_reference = "a100_sxm4_80gb";

/// Whether the profile names another, or lacks a figure that op_time needs.
bool is_short(const GpuProfile& gpu);

/// Figures that this profile lacks: "memory.bandwidth", "vector.softmax".
std::vector<std::string> missing_figures(const GpuProfile& gpu);
/// Missing figures of the parts that processors have as well.
std::vector<std::string> missing_figures(const MatrixUnits& matrix, const VectorRates& vector);

/// Fills the figures that `gpu` lacks: rates as parts of the peaks and of the bandwidth that `reference`
/// reaches, peaks and bandwidth in proportion to the peak that both state, the rest as it is there. Units are
/// added only to a GPU that has one of tf32, fp16 and bf16, and never fp8. `gpu` needs one peak rate.
void complete(GpuProfile& gpu, const GpuProfile& reference);

/// Takes over the curves of `from` that `rates` lacks, as parts of the own peak.
void fill_curves(MatrixRates& rates, const MatrixRates& from, const std::string& why);

/// Another GPU's figure as an assumption about this one.
template <class T>
Sourced<T> as_assumed(const Sourced<T>& figure, const std::string& why) {
  return {figure.value, Provenance::assumed, why};
}

}  // namespace trainyard
