#pragma once
// The content of a comparison as headings, tables and sentences, which text, Markdown and HTML print.

#include "explain/comparison.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

struct ComparedTable {
  struct Row {
    std::string label;
    std::vector<std::string> cells;  ///< as many as columns; none: a remark
    int depth = 0;                   ///< 1 and 2: a part of the row above with a smaller depth
  };
  std::string title;
  std::vector<std::string> columns;  ///< of the cells
  std::vector<Row> rows;
};

struct LabelledText {
  std::string label, text;
};

/// "label: text", or the text alone without a label.
std::string in_one_line(const LabelledText& labelled);

struct ComparisonReport {
  std::vector<LabelledText> runs;     ///< letter, description
  std::vector<LabelledText> keys;     ///< letter of the run (empty if there are two), "nodes: 1 -> 4"
  std::vector<ComparedTable> tables;  ///< figures, parts of the step time
  std::vector<LabelledText> error;    ///< the expected error; a line for each run if there are more than two
  std::vector<LabelledText> ranking;  ///< for more than two runs: the fastest first
  std::vector<std::string> conclusion;  ///< a sentence for each run, except the first
};

/// The widest head, in columns.
inline constexpr std::size_t head_width = 17;

/// `comparisons`: of the first run with each of the others, at least one. Two runs have columns for both, the
/// difference and the ratio; more runs a column for the first, and two for each other: value and ratio.
ComparisonReport comparison_report(std::span<const Comparison> comparisons);

}  // namespace trainyard
