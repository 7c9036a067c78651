#pragma once
// Charts of report.html that take the width there is: places across are percent, places up are pixels, and
// text keeps its size. All is SVG without script. What a class looks like is in report.css.

#include "html/html.hpp"
#include "report/plot_axis.hpp"
#include "units/quantity.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A part of a bar.
struct BarPart {
  std::string kind;  ///< a class of the style sheet, which has fills that differ in lightness and pattern
  std::string name;
  double share = 0;   ///< of the whole bar
  std::string value;  ///< with its unit
};

/// Parts beside each other; `name` says what is shown, to those who cannot see it.
Html stacked_bar(std::string_view name, const std::vector<BarPart>& parts);

/// A small bar for a cell of a table.
Html share_bar(std::string_view kind, double share);

/// What a fill in a chart stands for.
Html swatch(std::string_view kind);

/// What a line in a chart stands for.
Html swatch_line(std::string_view kind);

/// Names beside their swatches.
struct LegendEntry {
  Html sign;
  std::string text;
};
Html legend(const std::vector<LegendEntry>& entries);

struct PlotPoint {
  double x = 0, y = 0;
  std::string text;  ///< shown when pointed at
};

/// Two axes and what is drawn between them. The axes are made with across_begin ... up_length.
class FluidPlot {
public:
  static constexpr double across_begin = 3, across_length = 94;  ///< percent
  static constexpr double up_begin = 232, up_length = -220;      ///< pixels

  FluidPlot(std::string name, PlotAxis across, std::string across_title, PlotAxis up, std::string up_title);

  /// Lines between points; `kind` is their class.
  void line(std::string_view kind, const std::vector<PlotPoint>& points);
  /// A sign at each point; `shape` from 0 to 3.
  void marks(std::string_view kind, int shape, const std::vector<PlotPoint>& points);
  /// Across the whole plot.
  void level(std::string_view kind, double y);
  void upright(std::string_view kind, double x, std::string_view text);
  /// From the lower end of the axis up to `y`.
  void column(std::string_view kind, double from, double to, double y, std::string_view text);

  [[nodiscard]] Html html() const;

private:
  std::string name_, across_title_, up_title_;
  PlotAxis across_, up_;
  std::string lines_, marks_;
};

/// "0.5", "20", "100,000", "5 M": a number at a tick.
std::string rounded_tick(double number);

/// A mark as it is in the plot, for a legend; and a series' with its line.
Html mark_sign(std::string_view kind, int shape);
Html series_sign(std::string_view kind, int shape);

}  // namespace trainyard
