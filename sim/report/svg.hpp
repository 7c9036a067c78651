#pragma once
// Parts of the pictures: text and lines of SVG. Coordinates are in pixels; `kind` is a class of the picture's
// style sheet.

#include <string>
#include <string_view>

namespace trainyard {

/// The text with &, < and > escaped for SVG.
std::string svg_escaped(std::string_view text);

void add_svg_text(std::string& svg, double x, double y, std::string_view kind, std::string_view text);

/// Reads upwards, with its middle at the given place.
void add_svg_upright_text(std::string& svg, double x, double y, std::string_view text);

void add_svg_line(std::string& svg, std::string_view kind, double x1, double y1, double x2, double y2);

/// Opens a picture of the given size on white; `style` is its style sheet.
std::string svg_begin(double width, double height, std::string_view style);

}  // namespace trainyard
