#pragma once
// Where the numbers of a page come from.

#include "document/document.hpp"
#include "experiment/resolve.hpp"
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

PageOrigin page_origin(const ResolvedExperiment& resolved, const std::string& version);

doc::Table sources_table(const std::vector<PageSource>& sources);

/// This table below a heading; nothing if there are no sources.
void add_sources(doc::Section& section, const std::vector<PageSource>& sources);

/// The errors of predictions of published runs, and which of them tell about this run.
void add_errors(doc::Document& page, const Run& run, const PageOrigin& origin);

/// The experiment with all its keys, and the command that repeats the run.
void add_experiment(doc::Document& page, const Run& run, const PageOrigin& origin);

}  // namespace trainyard
