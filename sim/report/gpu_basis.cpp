#include "report/gpu_basis.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {
namespace {

std::string_view part_of(const HeldOutError& error) {
  for (const std::string_view part : {"conv", "gemm", "attention"}) {
    if (error.kernels.starts_with(part)) return part;
  }
  return "vector";
}

/// Smallest and largest mean error of a part of the kernels: "5-10 %"; empty if there is none.
std::string range_of(const std::vector<HeldOutError>& errors, std::string_view part) {
  std::vector<double> means;
  for (const HeldOutError& error : errors) {
    if (part_of(error) == part) means.push_back(std::round(100 * error.mape));
  }
  if (means.empty()) return {};
  const auto [low, high] = std::minmax_element(means.begin(), means.end());
  return *low == *high ? fmt::format("{:.0f} %", *low) : fmt::format("{:.0f}-{:.0f} %", *low, *high);
}

bool is_fitted(Provenance provenance) {
  return provenance == Provenance::fitted || provenance == Provenance::measured;
}

/// Whether some rates of a part were fitted or measured, here or elsewhere.
bool has_fits(const GpuProfile& gpu, std::string_view part) {
  const MatrixUnits& units = gpu.matrix;
  const auto is_fitted_in = [&](const MatrixRates& rates) {
    if (part == "gemm") return rates.gemm && is_fitted(rates.gemm->provenance);
    return part == "conv" && rates.conv && is_fitted(rates.conv->forward.provenance);
  };
  const auto is_fitted_in_optional = [&](const std::optional<MatrixRates>& rates) {
    return rates && is_fitted_in(*rates);
  };
  return is_fitted_in(units.fp32) || is_fitted_in_optional(units.tf32) || is_fitted_in_optional(units.fp16) ||
         is_fitted_in_optional(units.bf16) || is_fitted_in_optional(units.fp8) ||
         (part == "vector" && is_fitted(gpu.vector.elementwise.provenance));
}

}  // namespace

std::string kernel_basis(const GpuProfile& gpu) {
  // a part of a published table corrects curves, the rest of the profile may be scaled
  if (gpu.kernels && gpu.calibration && !gpu.calibration->recordings.empty()) return "measured";
  if (has_fits(gpu, "gemm")) return "fitted";
  return gpu.calibration && gpu.calibration->scaled_from ? "scaled" : "assumed";
}

std::string calibration_line(const GpuProfile& gpu) {
  const Calibration calibration = gpu.calibration.value_or(Calibration());
  std::vector<std::string> fitted, scaled, assumed;
  for (const std::string part : {"gemm", "conv", "vector"}) {
    const std::string range = range_of(calibration.held_out, part);
    const std::string range_of_scaling = range_of(calibration.scaling, part);
    if (range.empty() && has_fits(gpu, part)) {
      fitted.push_back(part);
    } else if (!range.empty()) {
      fitted.push_back(fmt::format("{} {}", part, range));
    } else if (calibration.scaled_from) {
      scaled.push_back(range_of_scaling.empty() ? part : fmt::format("{} {}", part, range_of_scaling));
    } else {
      assumed.push_back(part);
    }
  }
  if (const std::string range = range_of(calibration.held_out, "attention"); !range.empty()) {
    fitted.push_back("attention " + range);
  }
  std::vector<std::string> origins;
  const auto append = [&](const std::string& how, const std::vector<std::string>& parts) {
    if (!parts.empty()) origins.push_back(fmt::format("{} {}", how, fmt::join(parts, ", ")));
  };
  append("fitted:", fitted);
  append("scaled from " + calibration.scaled_from.value_or("") + ":", scaled);
  append("assumed:", assumed);
  return fmt::format("{}", fmt::join(origins, "; "));
}

}  // namespace trainyard
