#pragma once
// The frame of report.html: one file that contains its style sheet and script and loads nothing.

#include "document/html.hpp"

#include <string>
#include <string_view>
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
  std::vector<HtmlSection> sections;  ///< in order; those without content are omitted
  std::string points = {};            ///< JSON of a sweep for the script; empty: none
  std::string version;                ///< of the program
};

/// A script element with JSON, which its content cannot end; nothing without.
Html data_for_script(std::string_view id, std::string_view json);

/// The whole file.
std::string html_text(const HtmlPage& page);

}  // namespace trainyard
