#include "document/fluid_plot.hpp"
#include "document/time_unit.hpp"
#include "html/timeline_data.hpp"
#include "run/layout_parts.hpp"
#include "run/timeline_tracks.hpp"
#include "run/updates.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace trainyard {

namespace {

/// Bars of one category that nearly touch are drawn as one.
struct DrawnBar {
  std::string_view category;
  Seconds start, end;
};

std::vector<DrawnBar> drawn_bars(const std::vector<const TimelineEvent*>& events, Seconds whole) {
  constexpr double nothing = 5e-4;  // of the whole width: half a pixel
  std::vector<DrawnBar> bars;
  for (const TimelineEvent* event : events) {
    if (!bars.empty() && bars.back().category == event->category &&
        event->start - bars.back().end < nothing * whole)
      bars.back().end = std::max(bars.back().end, event->end);
    else
      bars.push_back({event->category, event->start, event->end});
  }
  return bars;
}

Html lane(std::string_view name, const std::vector<DrawnBar>& bars, Seconds whole) {
  Html svg{fmt::format("<div class=\"lane\"><span>{}</span><svg class=\"stack thin\" role=\"img\"{}>\n",
                       as_text(name).markup, attribute("aria-label", name))};
  for (const DrawnBar& bar : bars) {
    svg.markup += fmt::format("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\"/>\n",
                              kind_of_category(bar.category), 100 * (bar.start / whole),
                              100 * ((bar.end - bar.start) / whole));
  }
  return svg + Html{"</svg></div>\n"};
}

/// The first rank's streams one below the other, or if classes of ranks wait for each other the compute
/// stream of each class's first rank; with a time axis.
Html picture(const Run& run, const std::vector<Track>& all, Seconds whole) {
  const Track& track = all.front();
  const bool has_stages = has_bubbles(run.experiment) && run.experiment.classes.size() > 1;
  Html html;
  for (const Track& one : all) {
    if (!has_stages) break;
    const RankClass& its = class_of(run.experiment, one.rank);
    if (one.rank != its.ranks.front()) continue;
    html += lane(its.name, drawn_bars(one.streams[static_cast<int>(Stream::compute)], whole), whole);
  }
  for (int stream = 0; stream < stream_count; ++stream) {
    if (has_stages || track.streams[stream].empty()) continue;
    html += lane(stream_name(run, stream), drawn_bars(track.streams[stream], whole), whole);
  }
  const TimeUnit unit = time_unit(whole);
  const PlotAxis axis = linear_axis({whole / Seconds(unit.seconds)}, 0, 100, 6,
                                    [](double time) { return fmt::format("{:.6g}", time); });
  std::string ticks;
  for (const AxisTick& tick : axis.ticks) {
    const double place = 100 * tick.value * unit.seconds / whole.si();
    if (place > 100) continue;
    const std::string_view kind = place < 3 ? "start" : place > 97 ? "end" : "middle";
    ticks += fmt::format(
        "<line class=\"tick\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"0\" y2=\"5\"/>"
        "<text class=\"{1}\" x=\"{0:.2f}%\" y=\"18\">{2}</text>\n",
        place, kind, as_text(tick.text).markup);
  }
  html +=
      Html{fmt::format("<div class=\"lane\"><span>time, {}</span><svg class=\"time-axis\" "
                       "aria-hidden=\"true\">\n{}</svg></div>\n",
                       unit.name, ticks)};
  const std::string caption =
      has_stages ? fmt::format("the kernels of each {}'s first rank; gaps are communication and bubbles",
                               run.experiment.layout ? "stage" : "class")
                 : track_name(run, track.rank);
  return element("figure", Html{"\n"} + html + element("figcaption", caption), " class=\"still\"") +
         Html{"\n"};
}

Html timeline_controls() {
  struct Control {
    const char *action, *sign, *name;
  };
  constexpr Control controls[] = {{"in", "+", "zoom in"},
                                  {"out", "\xE2\x88\x92", "zoom out"},
                                  {"left", "\xE2\x86\x90", "earlier"},
                                  {"right", "\xE2\x86\x92", "later"},
                                  {"all", "all", "the whole time"}};
  Html buttons;
  for (const Control& control : controls) {
    buttons += element("button", control.sign,
                       attribute("type", "button") + attribute("data-action", control.action) +
                           attribute("aria-label", control.name) + attribute("title", control.name));
  }
  buttons += element("button", "all ranks",
                     " type=\"button\" data-action=\"ranks\" aria-pressed=\"false\" hidden=\"hidden\"");
  return element("div", buttons + element("output", Html{}, " id=\"timeline-range\""), " class=\"controls\"");
}

}  // namespace

Html timeline_html(const Run& run) {
  const std::vector<Track> all = tracks(run);
  if (all.empty()) return {};
  Seconds whole;
  std::set<std::string> categories;
  std::vector<LegendEntry> entries;
  for (const TimelineEvent& event : timeline_of(run)) {
    whole = std::max(whole, event.end);
    if (categories.insert(event.category).second)
      entries.push_back({swatch(kind_of_category(event.category)), event.category});
  }
  if (whole <= Seconds{}) return {};
  Html html = paragraph(
      run.experiment.layout && all.size() < static_cast<std::size_t>(run.ranks)
          ? fmt::format("The first rank of each stage, as in trace.json: {} of {} ranks.", all.size(),
                        grouped(run.ranks))
      : all.size() < static_cast<std::size_t>(run.ranks)
          ? fmt::format("{} of {} ranks (the first ones and the first of each class), as in trace.json.",
                        all.size(), grouped(run.ranks))
          : "All ranks, as in trace.json.");
  if (const auto until = updates_of(run) ? shown_until(*updates_of(run)) : std::nullopt) {
    html += paragraph(fmt::format("The first {} of the measured {}.", estimate(*until),
                                  estimate(updates_of(run)->measured)));
  }
  if (run.input && run.input->exposed > Seconds{}) {
    html += paragraph(fmt::format("Not shown: {} in which GPUs wait for samples, before or between steps.",
                                  estimate(run.input->exposed)));
  }
  html += element("div",
                  timeline_controls() +
                      Html{"<canvas tabindex=\"0\" role=\"img\" aria-label=\"timeline; the controls above "
                           "zoom and pan it\" "
                           "aria-describedby=\"timeline-range\"></canvas><div class=\"tip\" role=\"status\" "
                           "hidden=\"hidden\"></div>\n"} +
                      element("p",
                              "Zoom: pinch, Ctrl+wheel or +/-. Pan: drag or arrows. 0 resets. Point at a bar "
                              "for its details.",
                              " class=\"hint\""),
                  " id=\"timeline-view\" hidden=\"hidden\"") +
          Html{"\n"};
  return html + picture(run, all, whole) + legend(entries);
}

}  // namespace trainyard
