#pragma once
// report.html of a run: one page with the figures, charts, tables, timeline and provenance of a result, for a
// browser without a network. It reads and prints without script but for the zoom of the timeline.

#include "experiment/resolve.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Where figures of a file come from, in the file's words.
struct PageSource {
  std::string file;  ///< "platform dgx2"
  std::string source;
  bool operator==(const PageSource&) const = default;
};

/// What a page says beside the result.
struct PageOrigin {
  std::string version;                ///< of the program
  std::vector<std::string> warnings;  ///< of the files that were read
  std::vector<PageSource> sources;
  bool has_measured_times = false;  ///< a user's trace gives compute times
};

PageOrigin page_origin(const ResolvedExperiment& resolved, const std::string& version);

/// The whole file. The text depends on nothing but its arguments.
std::string report_html(const Run& run, const PageOrigin& origin);

}  // namespace trainyard
