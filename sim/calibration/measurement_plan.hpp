#pragma once
// The measurements for trainyard_gpu_kernels, in order of importance: a GPU is often available for minutes
// only, and a recording that stops early must still be useful.

#include "compute/dtype.hpp"
#include "units/quantity.hpp"
#include "workload/model.hpp"
#include "workload/trace.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A row of the plan: one measurement.
struct Measurement {
  std::string op, variant;
  std::optional<Dtype> dtype;
  std::string shape;
  Bytes bytes;  ///< counted for it in a trace, or copied
};

/// The models whose shapes are measured, the most important first.
inline constexpr std::array<std::string_view, 9> planned_models{"resnet50",   "bert_base",   "gpt2_small",
                                                                "bert_large", "gpt2_medium", "vgg16",
                                                                "resnet101",  "gpt2_large",  "gpt2_xl"};

enum class PlanSize { quick, full };

/// Launches, power and a coarse grid of everything; then, for `full`, the shapes of the models at several
/// batch sizes and a fine grid. Each measurement once.
std::vector<Measurement> measurement_plan(const std::vector<Model>& models, PlanSize size);

/// As CSV: op,variant,dtype,shape,bytes.
std::string plan_text(const std::vector<Measurement>& plan);

}  // namespace trainyard
