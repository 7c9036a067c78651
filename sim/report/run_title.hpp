#pragma once
// Describes a run, for the heads of its summary, its page and its explanation.

#include "report/page.hpp"
#include "run/run.hpp"

#include <string>

namespace trainyard {

/// "resnet50_dgx2: resnet50 training step"
std::string run_title(const Run& run);

/// "16 GPUs of 1 x NVIDIA DGX-2; pytorch_ddp, fp32, momentum, batch 128 per GPU"
std::string run_setting(const Run& run);

/// Both, as the first lines of a text.
void write_title(Page& out, const Run& run);

/// The work of a step: "one optimizer update with 2,048 samples"
std::string update_in_words(const Run& run);

}  // namespace trainyard
