#include "report/svg.hpp"

#include <fmt/format.h>
#include <iterator>

namespace trainyard {

std::string svg_escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&')
      result += "&amp;";
    else if (letter == '<')
      result += "&lt;";
    else if (letter == '>')
      result += "&gt;";
    else
      result += letter;
  }
  return result;
}

void add_svg_text(std::string& svg, double x, double y, std::string_view kind, std::string_view text) {
  fmt::format_to(std::back_inserter(svg), "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", kind, x,
                 y, svg_escaped(text));
}

void add_svg_upright_text(std::string& svg, double x, double y, std::string_view text) {
  fmt::format_to(std::back_inserter(svg),
                 "<text class=\"middle\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</text>\n", x,
                 y, svg_escaped(text));
}

void add_svg_line(std::string& svg, std::string_view kind, double x1, double y1, double x2, double y2) {
  fmt::format_to(std::back_inserter(svg),
                 "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
                 y1, x2, y2);
}

std::string svg_begin(double width, double height, std::string_view style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<style>{}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height, style);
}

}  // namespace trainyard
