#pragma once
// A sweep as a document: its points, where scaling stops, and the points to choose.

#include "document/document.hpp"
#include "pages/sweep_origin.hpp"
#include "sweep/sweep_result.hpp"
#include "units/print_style.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace trainyard {

struct SweepShown {
  /// With more rows than this, the terminal and Markdown have only those on the Pareto front, and the reasons
  /// of all that failed.
  std::size_t most_rows = 60;
  std::size_t width = usual_page_width;  ///< of the terminal: whether keys have a column each
  std::optional<std::string> by = {};    ///< a varied key; table and conclusions are repeated for its values
};

/// `origin`: for a browser, with charts and provenance; none for the terminal and Markdown. The same input
/// gives the same page, in whatever order and parts the points were run.
doc::Document sweep_document(const SweepResult& result, const SweepShown& shown = {},
                             const SweepOrigin* origin = nullptr);

}  // namespace trainyard
