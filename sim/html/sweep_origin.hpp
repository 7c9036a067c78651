#pragma once
// What the page of a sweep says of where its figures come from: the sources of the files that its points
// name, and one point's experiment in full.

#include "config/catalogue.hpp"
#include "html/html.hpp"
#include "html/report_html.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

struct SweepOrigin {
  std::string version = {};              ///< of the program
  std::string sweep = {};                ///< its file with what the command line made of it
  std::vector<PageSource> sources = {};  ///< of all platforms, GPUs and stacks of points that are done
  std::size_t point = 0;                 ///< the first point that is done, whose experiment follows
  std::string experiment = {};           ///< every key with its value; empty where none is done
  std::string unread = {};               ///< why files could not be read again; then sources may be missing
};

/// Reads the files of the points that are done once more: each combination of files once.
SweepOrigin sweep_origin(const config::Catalogue& catalogue, const SweepResult& result, std::string sweep,
                         std::string version);

/// Sources as a table, and the point's experiment.
Html sweep_trust_html(const SweepOrigin& origin);

}  // namespace trainyard
