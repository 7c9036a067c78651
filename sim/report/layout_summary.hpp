#pragma once
// Words and lines about a job whose ranks share a model: its layout, the parts of each stage's step, and
// which of them costs most.

#include "report/page.hpp"
#include "run/run.hpp"

#include <string>

namespace trainyard {

/// "tensor 8 (with sequence) x pipeline 8 x data 16, interleaved with 3 virtual stages". Requires a layout.
std::string layout_in_words(const Run& run);

/// Where the time goes, for every stage.
void write_stages(Page& out, const Run& run);

/// One or two sentences: which part other than kernels costs most, on the stage that ends last.
std::string layout_limit_in_words(const Run& run);

}  // namespace trainyard
