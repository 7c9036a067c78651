#pragma once
// The page of a run, and parts of it, in the forms that tests read.

#include "document/writers.hpp"
#include "report/run_page.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace trainyard {

inline std::string summary_text(const Run& run, const PrintStyle& style = {}) {
  return doc::text(run_document(run), style);
}

/// The sections that `add` adds, for a browser.
inline std::string html_of(const Run& run, void (*add)(doc::Document&, const Run&)) {
  doc::Document page;
  add(page, run);
  std::string html;
  for (const doc::Section& section : page.sections) html += doc::content_html(section).markup;
  return html;
}

/// Without the elements that keep numbers and their units on a line.
inline std::string without_spans(std::string text) {
  constexpr std::string_view begin = "<span class=\"n\">";
  constexpr std::string_view end = "</span>";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    text.erase(at, begin.size());
    text.erase(text.find(end, at), end.size());
  }
  return text;
}

inline bool shows(const std::string& text, std::string_view part) {
  return without_spans(text).find(part) != std::string::npos;
}

/// The timeline's data for the script, and for programs.
inline nlohmann::json timeline_json(const Run& run) {
  doc::Document page;
  add_timeline(page, run);
  return page.sections.empty() ? nlohmann::json()
                               : nlohmann::json(doc::json(page)["sections"][0]["parts"][1]);
}

}  // namespace trainyard
