#pragma once
// Charts of report.html that fill the available width: horizontal coordinates are percent, vertical ones are
// pixels, and text keeps its size. All of it is SVG without script. report.css defines the appearance of each
// class.

#include "document/html.hpp"
#include "document/plot_axis.hpp"
#include "units/quantity.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A part of a bar.
struct BarPart {
  std::string kind;  ///< a class of the style sheet, whose fills differ in lightness and pattern
  std::string name;
  double share = 0;   ///< fraction of the whole bar
  std::string value;  ///< with its unit
};

/// Parts side by side; `name` describes the content for readers who cannot see it.
Html stacked_bar(std::string_view name, const std::vector<BarPart>& parts);

/// A small bar for a cell of a table.
Html share_bar(std::string_view kind, double share);

/// A sample of a chart's fill, for legends.
Html swatch(std::string_view kind);

/// A sample of a chart's line, for legends.
Html swatch_line(std::string_view kind);

/// Names next to their swatches.
struct LegendEntry {
  Html sign;
  std::string text;
};
Html legend(const std::vector<LegendEntry>& entries);

struct PlotPoint {
  double x = 0, y = 0;
  std::string text;  ///< shown under the pointer
};

/// Two axes and the marks between them. The axes are made with across_begin ... up_length.
class FluidPlot {
public:
  static constexpr double across_begin = 3, across_length = 94;  ///< percent
  static constexpr double up_begin = 232, up_length = -220;      ///< pixels

  FluidPlot(std::string name, PlotAxis across, std::string across_title, PlotAxis up, std::string up_title);

  /// Lines between points; `kind` is their class.
  void line(std::string_view kind, const std::vector<PlotPoint>& points);
  /// A sign at each point; `shape` from 0 to 3, or 4, a ring around another sign.
  void marks(std::string_view kind, int shape, const std::vector<PlotPoint>& points);
  /// A line across the whole plot.
  void level(std::string_view kind, double y);
  void upright(std::string_view kind, double x, std::string_view text);
  /// A bar from the lower end of the axis up to `y`.
  void column(std::string_view kind, double from, double to, double y, std::string_view text);

  [[nodiscard]] Html html() const;

private:
  std::string name_, across_title_, up_title_;
  PlotAxis across_, up_;
  std::string lines_, marks_;
};

/// "0.5", "20", "100,000", "5 M": a number at a tick.
std::string rounded_tick(double number);

/// A mark of the plot for a legend; a series' mark with its line.
Html mark_sign(std::string_view kind, int shape);
Html series_sign(std::string_view kind, int shape);

}  // namespace trainyard
