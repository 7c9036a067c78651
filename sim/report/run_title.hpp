#pragma once
// What a run was, in the words that head its summary, its page and its explanation.

#include "report/page.hpp"
#include "run/result.hpp"

#include <string>

namespace trainyard {

/// "resnet50_dgx2: resnet50 training step"
std::string run_title(const Result& result);

/// "16 GPUs of 1 x NVIDIA DGX-2; pytorch_ddp, fp32, momentum, batch 128 per GPU"
std::string run_setting(const Result& result);

/// Both, as the first lines of a text.
void write_title(Page& out, const Result& result);

/// What a step does: "one optimizer update with 2,048 samples"
std::string update_in_words(const Result& result);

}  // namespace trainyard
