#pragma once
// For pages that are not documents yet.

#include "document/writers.hpp"
#include "report/page_origin.hpp"

namespace trainyard {

inline Html sources_html(const std::vector<PageSource>& sources) {
  doc::Section section;
  add_sources(section, sources);
  return doc::content_html(section);
}

}  // namespace trainyard
