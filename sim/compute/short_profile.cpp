#include "compute/short_profile.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {
namespace {

void fill(std::optional<ConvPasses>& passes, const std::optional<ConvPasses>& from, const std::string& why) {
  if (passes || !from) return;
  passes =
      ConvPasses{as_assumed(from->forward, why), as_assumed(from->dgrad, why), as_assumed(from->wgrad, why)};
}

template <class T>
void fill(std::optional<T>& figure, const std::optional<T>& from, const std::string& why) {
  if (!figure && from) figure = as_assumed(*from, why);
}

struct Unit {
  std::string_view name;
  const MatrixRates* own;
  const MatrixRates* reference;
};

const MatrixRates* known(const std::optional<MatrixRates>& rates) { return rates ? &*rates : nullptr; }
const MatrixRates* known(const MatrixRates& rates) {
  return rates.peak.value > FlopRate() ? &rates : nullptr;
}

/// The profile's peak over the reference's, and its kind.
struct PeakRatio {
  double value = 1;
  std::string_view of;
};

PeakRatio peak_ratio(const MatrixUnits& own, const MatrixUnits& from) {
  const Unit units[] = {{"bf16", known(own.bf16), known(from.bf16)},
                        {"fp16", known(own.fp16), known(from.fp16)},
                        {"tf32", known(own.tf32), known(from.tf32)},
                        {"fp8", known(own.fp8), known(from.fp8)},
                        {"fp32", known(own.fp32), known(from.fp32)}};
  for (const Unit& unit : units) {
    if (unit.own != nullptr && unit.reference != nullptr)
      return {unit.own->peak.value / unit.reference->peak.value, unit.name};
  }
  return {};
}

class Completion {
public:
  Completion(GpuProfile& gpu, const GpuProfile& reference)
      : gpu_(gpu),
        from_(reference),
        ratio_(peak_ratio(gpu.matrix, reference.matrix)),
        in_proportion_(ratio_.of.empty()
                           ? "as on " + reference.name
                           : fmt::format("{} times that of {}, as its peak in {}",
                                         shortest(four_digits(ratio_.value)), reference.name, ratio_.of)),
        as_there_("as on " + reference.name) {}

  void run() {
    fill_memory();
    fill_matrix();
    fill_vector();
    if (gpu_.roofline.value.efficiency == 0) gpu_.roofline = as_assumed(from_.roofline, as_there_);
    if (gpu_.compute_capability.provenance == Provenance::unstated && gpu_.compute_capability.value == 0)
      gpu_.compute_capability = as_assumed(from_.compute_capability, as_there_);
    if (!gpu_.sms && from_.sms) {
      const int count = std::max(1, static_cast<int>(std::lround(from_.sms->value * ratio_.value)));
      gpu_.sms = Sourced<int>{std::min(count, 10'000), Provenance::assumed, in_proportion_};
    }
    fill(gpu_.kernel_share, from_.kernel_share, as_there_);
    if (!gpu_.power && from_.power && gpu_.tdp.value > Watts()) {
      gpu_.power =
          GpuPower{as_assumed(from_.power->idle, as_there_), as_assumed(from_.power->vector, as_there_),
                   as_assumed(from_.power->matrix, as_there_)};
    }
    if (!gpu_.variation && from_.variation) {
      gpu_.variation.emplace();
      fill(gpu_.variation->gpu, from_.variation->gpu, as_there_);
      fill(gpu_.variation->step, from_.variation->step, as_there_);
    }
    if (!gpu_.calibration) {
      gpu_.calibration.emplace();
      gpu_.calibration->scaled_from = from_.name;
    }
    gpu_.like = from_.name;
  }

private:
  void fill_memory() {
    if (gpu_.memory.bandwidth.value <= Bandwidth()) {
      gpu_.memory.bandwidth = {ratio_.value * from_.memory.bandwidth.value, Provenance::assumed,
                               in_proportion_};
    }
    fill(gpu_.memory.context, from_.memory.context, as_there_);
  }

  [[nodiscard]] MatrixRates in_proportion(const MatrixRates& from) const {
    MatrixRates rates;
    rates.peak = {ratio_.value * from.peak.value, Provenance::assumed, in_proportion_};
    return rates;
  }

  void fill_matrix() {
    MatrixUnits& own = gpu_.matrix;
    const MatrixUnits& from = from_.matrix;
    const bool has_units = own.tf32 || own.fp16 || own.bf16;
    if (own.fp32.peak.value <= FlopRate()) own.fp32 = in_proportion(from.fp32);
    if (has_units) {
      if (!own.tf32 && from.tf32) own.tf32 = in_proportion(*from.tf32);
      if (!own.fp16 && from.fp16) own.fp16 = in_proportion(*from.fp16);
      if (!own.bf16 && from.bf16) own.bf16 = in_proportion(*from.bf16);
    }
    const std::string why = "part of the peak as on " + from_.name;
    fill_curves(own.fp32, from.fp32, why);
    fill_unit(own.tf32, from.tf32, why);
    fill_unit(own.fp16, from.fp16, why);
    fill_unit(own.bf16, from.bf16, why);
    fill_unit(own.fp8, from.fp8, why);
    fill_unit(own.nvfp4, from.nvfp4 ? from.nvfp4 : from.fp8, why);
  }

  /// Curves of the same unit there; where there is none, of its fp16.
  void fill_unit(std::optional<MatrixRates>& own, const std::optional<MatrixRates>& same,
                 const std::string& why) const {
    if (!own) return;
    const MatrixRates& like = same ? *same : from_.matrix.fp16 ? *from_.matrix.fp16 : from_.matrix.fp32;
    const std::string reason = same ? why : why + ", in another data type";
    const bool has_attention = own->attention || own->gemm;
    fill_curves(*own, like, reason);
    if (has_attention) return;
    fill(own->attention, like.attention, reason);
    fill(own->attention_tokens, like.attention_tokens, reason);
    fill(own->attention_t0, like.attention_t0, reason);
    fill(own->attention_key_time, like.attention_key_time, reason);
  }

  void fill_vector() {
    const std::string why = "part of the bandwidth as on " + from_.name;
    const auto rate = [&](Sourced<double> VectorRates::*member) {
      if ((gpu_.vector.*member).value == 0) gpu_.vector.*member = as_assumed(from_.vector.*member, why);
    };
    const bool is_empty = gpu_.vector.elementwise.value == 0;
    rate(&VectorRates::elementwise);
    rate(&VectorRates::batch_norm);
    rate(&VectorRates::layer_norm);
    rate(&VectorRates::pooling);
    const bool has_softmax = gpu_.vector.softmax.value != 0;
    rate(&VectorRates::softmax);
    if (!has_softmax) fill(gpu_.vector.softmax_wide, from_.vector.softmax_wide, why);
    rate(&VectorRates::embedding);
    rate(&VectorRates::optimizer);
    if (is_empty && gpu_.vector.t0.provenance == Provenance::unstated && gpu_.vector.t0.value == Seconds())
      gpu_.vector.t0 = as_assumed(from_.vector.t0, as_there_);
  }

  GpuProfile& gpu_;
  const GpuProfile& from_;
  PeakRatio ratio_;
  std::string in_proportion_, as_there_;
};

}  // namespace

std::vector<std::string> missing_figures(const MatrixUnits& matrix, const VectorRates& vector) {
  std::vector<std::string> missing;
  if (matrix.fp32.peak.value <= FlopRate()) missing.emplace_back("matrix.fp32");
  const auto check = [&](const char* name, const Sourced<double>& rate) {
    if (rate.value == 0) missing.push_back(std::string("vector.") + name);
  };
  check("elementwise", vector.elementwise);
  check("batch_norm", vector.batch_norm);
  check("layer_norm", vector.layer_norm);
  check("pooling", vector.pooling);
  check("softmax", vector.softmax);
  check("embedding", vector.embedding);
  check("optimizer", vector.optimizer);
  return missing;
}

std::vector<std::string> missing_figures(const GpuProfile& gpu) {
  std::vector<std::string> missing = missing_figures(gpu.matrix, gpu.vector);
  if (gpu.memory.bandwidth.value <= Bandwidth()) missing.emplace_back("memory.bandwidth");
  if (gpu.roofline.value.efficiency == 0) missing.emplace_back("roofline");
  return missing;
}

bool is_short(const GpuProfile& gpu) { return gpu.like.has_value() || !missing_figures(gpu).empty(); }

void fill_curves(MatrixRates& rates, const MatrixRates& from, const std::string& why) {
  fill(rates.gemm, from.gemm, why);
  fill(rates.conv_nhwc, rates.conv ? std::optional<ConvPasses>() : from.conv_nhwc, why);
  fill(rates.conv, from.conv, why);
}

void complete(GpuProfile& gpu, const GpuProfile& reference) { Completion(gpu, reference).run(); }

}  // namespace trainyard
