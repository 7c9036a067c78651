#pragma once
// Provenance of the figures on a sweep's page: the sources of the files that its points name, and one point's
// experiment in full.

#include "config/catalogue.hpp"
#include "document/document.hpp"
#include "report/page_origin.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

struct SweepOrigin {
  std::string version = {};              ///< of the program
  std::string sweep = {};                ///< its file, with the changes of the command line
  std::vector<PageSource> sources = {};  ///< of all platforms, GPUs and stacks of finished points
  std::size_t point = 0;                 ///< the first finished point, whose experiment follows
  std::string experiment = {};           ///< every key with its value; empty if no point is finished
  std::string unread = {};               ///< why files could not be read again; sources may then be missing
};

/// Reads the files of the finished points again, each combination of files once.
SweepOrigin sweep_origin(const config::Catalogue& catalogue, const SweepResult& result, std::string sweep,
                         std::string version);

/// Adds the sources as a table, and the point's experiment.
void add_origin(doc::Document& page, const SweepOrigin& origin);

}  // namespace trainyard
