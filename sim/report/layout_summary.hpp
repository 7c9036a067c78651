#pragma once
// Words and lines about a job whose ranks share a model: its layout, the parts of each stage's step, and
// which of them costs most.

#include "document/document.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// "tensor 8 with sequence parallelism x pipeline 8 x data 16; interleaved in 3 virtual stages". Requires a
/// layout.
std::string layout_in_words(const Run& run);
std::string layout_in_words(const RankLayout& layout);

/// The parts of the step of the stage that ends last, and of all stages.
void add_stages(doc::Document& page, const Run& run);

/// The parts of each stage's step as a table.
doc::Table stage_table(const Run& run);

/// A line of letters for each stage: when it runs passes, communicates and waits.
void add_stage_letters(doc::Document& page, const Run& run);

/// "60.7, 58.1, 57.3 GB in stages 0 to 2", in the order of the reports.
std::string memory_by_stage(const std::vector<MemoryReport>& reports);

/// One or two sentences: which part other than kernels costs most, on the stage that ends last.
std::string layout_limit_in_words(const Run& run);

}  // namespace trainyard
