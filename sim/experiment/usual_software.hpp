#pragma once
// The software of a run, and its kernels of attention, where nobody names them.

#include "config/document.hpp"
#include "experiment/resolved_experiment.hpp"

#include <functional>
#include <string>

namespace trainyard {

/// Whether the run is one of a GPU of today, with the software that people run there: PyTorch 2 came with
/// GPUs of 2022. Rules of a lowering have gradients of whole tables and the usual updates. The layout does
/// not matter, so that changes of it are compared on one stack. `model` reads its file. `names_optimizer`:
/// the experiment names one.
bool has_software_of_today(const ResolvedExperiment& resolved, bool names_optimizer,
                           const std::function<const config::Node&()>& model);

/// Whether the GPU came in 2022 or later, with PyTorch 2.
bool is_gpu_of_today(const GpuProfile& gpu);

/// A stack's decision about attention.
struct AttentionOfStack {
  std::string key;    ///< of the model's file; empty: the model has no such key, or the stack decides nothing
  std::string value;  ///< empty: that of the file
  std::string note = {};  ///< why the model does without the stack's fused kernel
};

AttentionOfStack attention_of_stack(const ResolvedExperiment& resolved, const config::Node& model);

}  // namespace trainyard
