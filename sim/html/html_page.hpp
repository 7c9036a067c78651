#pragma once
// The frame of report.html: one file with its style sheet and script inside, that loads nothing.

#include "html/html.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct HtmlSection {
  std::string id;  ///< letters and hyphens
  std::string title;
  Html content;
};

struct HtmlPage {
  std::string title;
  Html lead;                          ///< below the title
  std::vector<HtmlSection> sections;  ///< in their order; those without content are left out
  std::string timeline;               ///< JSON for the script; empty: there is none
  std::string version;                ///< of the program
};

/// The whole file.
std::string html_text(const HtmlPage& page);

}  // namespace trainyard
