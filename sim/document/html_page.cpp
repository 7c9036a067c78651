#include "document/html_page.hpp"

#include "document/page_files.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

// Nothing is fetched, whatever names the page contains: the browser enforces it.
constexpr std::string_view policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

// Patterns that distinguish fills without colour, and the marks of the series.
constexpr std::string_view definitions =
    R"svg(<svg class="definitions" width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="ground-hatch" width="6" height="6"/><rect class="ink-hatch" width="2" height="6"/></pattern>
<pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="ground-dots" width="5" height="5"/><circle class="ink-dots" cx="2.5" cy="2.5" r="1.1"/></pattern>
<pattern id="bars" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="ground-bars" width="5" height="5"/><rect class="ink-bars" width="1.5" height="5"/></pattern>
<pattern id="lines" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="ground-lines" width="5" height="5"/><rect class="ink-lines" width="5" height="1.5"/></pattern>
<pattern id="cross" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="ground-cross" width="6" height="6"/><rect class="ink-cross" width="1.5" height="6"/><rect class="ink-cross" width="6" height="1.5"/></pattern>
<circle id="m0" r="4"/><path id="m1" d="M-3.5-3.5h7v7h-7z"/><path id="m2" d="M0-4.6L4.4 3.4H-4.4z"/><path id="m3" d="M0-5L5 0L0 5L-5 0z"/><circle id="m4" r="6"/>
</defs></svg>
)svg";

/// JSON inside a script element, where "</" and "<!--" are not allowed.
std::string without_tags(std::string_view json) {
  std::string text;
  for (const char letter : json) {
    if (letter == '<')
      text += "\\u003c";
    else
      text += letter;
  }
  return text;
}

Html section_html(const HtmlSection& section) {
  return element("section", Html{"\n"} + element("h2", section.title) + Html{"\n"} + section.content,
                 attribute("id", section.id)) +
         Html{"\n"};
}

}  // namespace

Html data_for_script(std::string_view id, std::string_view json) {
  if (json.empty()) return {};
  return {fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id, without_tags(json))};
}

std::string html_text(const HtmlPage& page) {
  Html contents;
  Html sections;
  for (const HtmlSection& section : page.sections) {
    if (section.content.markup.empty()) continue;
    const std::string name = section.title.substr(0, section.title.find(" ("));
    contents += element("a", name, attribute("href", "#" + section.id)) + Html{"\n"};
    sections += section_html(section);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"generator\"{}/>\n<link rel=\"icon\" href=\"data:,\"/>\n<title>{}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n{}<header>\n{}\n{}</header>\n"
      "<nav aria-label=\"sections\">\n{}</nav>\n<main>\n{}</main>\n"
      "<footer>{}</footer>\n{}<script>\n{}{}</script>\n</body>\n</html>\n",
      policy, attribute("content", "trainyard " + page.version), as_text(page.title).markup, report_css,
      definitions, element("h1", page.title).markup, page.lead.markup, contents.markup, sections.markup,
      as_text("Written by trainyard " + page.version + ".").markup,
      data_for_script("points-data", page.points).markup, report_js,
      page.points.empty() ? std::string_view() : points_js);
}

}  // namespace trainyard
