#include "document/fluid_plot.hpp"

#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace trainyard {

namespace {

constexpr double field_height = 262;
constexpr double up_width = 64;  ///< "100,000" fits in any font

/// Appends markup with coordinates of at most two decimals.
template <class... Args>
void add_markup(std::string& markup, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(markup), format, std::forward<Args>(args)...);
}

/// A sample of a line or a mark for legends.
Html sign(const std::string& markup) {
  return {"<svg class=\"sign\" aria-hidden=\"true\">" + markup + "</svg>"};
}

std::string line_of(std::string_view kind) {
  return fmt::format("<line class=\"{}\" x1=\"0\" x2=\"34\" y1=\"7\" y2=\"7\"/>", kind);
}

std::string mark_of(std::string_view kind, int shape) {
  return fmt::format("<use class=\"mark {}\" href=\"#m{}\" x=\"17\" y=\"7\"/>", kind, shape);
}

Html tooltip(std::string_view text) { return text.empty() ? Html{} : element("title", text); }

}  // namespace

Html stacked_bar(std::string_view name, const std::vector<BarPart>& parts) {
  Html bar{fmt::format("<svg class=\"stack\" role=\"img\"{}>\n", attribute("aria-label", name))};
  double begin = 0;
  for (const BarPart& part : parts) {
    if (part.share <= 0) continue;
    add_markup(bar.markup, "<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\">{}</rect>\n",
               part.kind, 100 * begin, 100 * part.share, tooltip(part.name + ": " + part.value).markup);
    begin += part.share;
  }
  return bar + Html{"</svg>\n"};
}

Html share_bar(std::string_view kind, double share) {
  return {
      fmt::format("<svg class=\"share\" aria-hidden=\"true\"><rect class=\"{}\" width=\"{:.2f}%\" "
                  "height=\"100%\"/></svg>",
                  kind, 100 * std::clamp(share, 0.0, 1.0))};
}

Html swatch(std::string_view kind) {
  return {
      fmt::format("<svg class=\"swatch\" aria-hidden=\"true\"><rect class=\"{}\" width=\"100%\" "
                  "height=\"100%\"/></svg>",
                  kind)};
}

Html swatch_line(std::string_view kind) { return sign(line_of(kind)); }

Html mark_sign(std::string_view kind, int shape) { return sign(mark_of(kind, shape)); }

Html series_sign(std::string_view kind, int shape) { return sign(line_of(kind) + mark_of(kind, shape)); }

Html legend(const std::vector<LegendEntry>& entries) {
  Html items;
  for (const LegendEntry& entry : entries) items += element("li", entry.sign + as_text(" " + entry.text));
  return element("ul", items, " class=\"legend\"") + Html{"\n"};
}

std::string rounded_tick(double number) {
  constexpr double million = 1e6;
  if (std::abs(number) >= million) return fmt::format("{:.6g} M", number / million);
  return std::abs(number) < 1000 ? fmt::format("{:.6g}", number) : grouped(std::llround(number));
}

FluidPlot::FluidPlot(std::string name, PlotAxis across, std::string across_title, PlotAxis up,
                     std::string up_title)
    : name_(std::move(name)),
      across_title_(std::move(across_title)),
      up_title_(std::move(up_title)),
      across_(std::move(across)),
      up_(std::move(up)) {}

void FluidPlot::line(std::string_view kind, const std::vector<PlotPoint>& points) {
  add_markup(lines_, "<polyline class=\"{}\" points=\"", kind);
  for (const PlotPoint& point : points)
    add_markup(lines_, "{:.2f},{:.1f} ", across_.at(point.x), up_.at(point.y));
  lines_ += "\"/>\n";
}

void FluidPlot::marks(std::string_view kind, int shape, const std::vector<PlotPoint>& points) {
  for (const PlotPoint& point : points) {
    add_markup(marks_, "<use class=\"mark {}\" href=\"#m{}\" x=\"{:.2f}%\" y=\"{:.1f}\">{}</use>\n", kind,
               shape, across_.at(point.x), up_.at(point.y), tooltip(point.text).markup);
  }
}

void FluidPlot::level(std::string_view kind, double y) {
  add_markup(marks_, "<line class=\"{0}\" x1=\"0\" x2=\"100%\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/>\n", kind,
             up_.at(y));
}

void FluidPlot::upright(std::string_view kind, double x, std::string_view text) {
  add_markup(marks_,
             "<line class=\"{0}\" x1=\"{1:.2f}%\" x2=\"{1:.2f}%\" y1=\"{2:.1f}\" y2=\"{3:.1f}\">{4}</line>\n",
             kind, across_.at(x), up_begin, up_begin + up_length, tooltip(text).markup);
}

void FluidPlot::column(std::string_view kind, double from, double to, double y, std::string_view text) {
  const double left = across_.at(from);
  const double top = up_.at(y);
  add_markup(marks_,
             "<rect class=\"{}\" x=\"{:.2f}%\" width=\"{:.2f}%\" y=\"{:.1f}\" height=\"{:.1f}\">{}</rect>\n",
             kind, left, across_.at(to) - left, top, up_begin - top, tooltip(text).markup);
}

Html FluidPlot::html() const {
  std::string up;
  std::string field;
  for (const AxisTick& tick : up_.ticks) {
    const double y = up_.at(tick.value);
    add_markup(field, "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n", y);
    add_markup(up, "<text class=\"end\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n", up_width - 6, y + 4,
               as_text(tick.text).markup);
  }
  for (const AxisTick& tick : across_.ticks) {
    const double x = across_.at(tick.value);
    add_markup(field,
               "<line class=\"tick\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>\n", x,
               up_begin, up_begin + 5);
    add_markup(field, "<text class=\"middle\" x=\"{:.2f}%\" y=\"{:.0f}\">{}</text>\n", x, up_begin + 19,
               as_text(tick.text).markup);
  }
  Html html{
      fmt::format("<figure class=\"plot\"><div class=\"up-title\">{}</div>\n<div class=\"axes\"><svg "
                  "class=\"up\" width=\"{:.0f}\" "
                  "height=\"{:.0f}\" aria-hidden=\"true\">\n{}</svg><svg class=\"field\" width=\"100%\" "
                  "height=\"{:.0f}\" "
                  "role=\"img\"{}>\n{}",
                  as_text(up_title_).markup, up_width, field_height, up, field_height,
                  attribute("aria-label", name_), field)};
  if (!lines_.empty()) {
    add_markup(html.markup,
               "<svg width=\"100%\" height=\"{0:.0f}\" viewBox=\"0 0 100 {0:.0f}\" "
               "preserveAspectRatio=\"none\">\n{1}</svg>\n",
               field_height, lines_);
  }
  add_markup(html.markup, "{}</svg></div>\n<figcaption>{}</figcaption></figure>\n", marks_,
             as_text(across_title_).markup);
  return html;
}

}  // namespace trainyard
