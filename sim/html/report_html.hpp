#pragma once
// report.html of a run: one page with the figures, charts, tables, timeline and provenance of a result, for a
// browser without a network. Only the zoom of the timeline needs a script.

#include "experiment/resolve.hpp"
#include "explain/what_would_help.hpp"
#include "run/run.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Sources of a file's figures, in the file's words.
struct PageSource {
  std::string file;  ///< "platform dgx2"
  std::string source;
  bool operator==(const PageSource&) const = default;
};

/// Provenance shown on a page.
struct PageOrigin {
  std::string version;                ///< of the program
  std::vector<std::string> warnings;  ///< of the files that were read
  std::vector<PageSource> sources;
  bool has_measured_times = false;  ///< a user's trace provides compute times
};

/// Changes that were simulated to say what would help, as `explain` does.
struct PageChanges {
  std::vector<WhatIfRow> rows = {};  ///< by throughput, highest first
  std::string why_none = {};         ///< a sentence, if none was tried
};

PageOrigin page_origin(const ResolvedExperiment& resolved, const std::string& version);

/// The whole file. The text depends only on the arguments.
std::string report_html(const Run& run, const PageOrigin& origin, const PageChanges& changes = {});

}  // namespace trainyard
