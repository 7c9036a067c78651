// Lanes of a document: a view that the script of pages zooms, with its data, and a picture without a script.

#include "document/html_page.hpp"
#include "document/parts.hpp"
#include "document/time_unit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace trainyard::doc {
namespace {

using Json = nlohmann::ordered_json;

/// Bars of one kind that nearly touch are drawn as one; those that nobody would see next to another are left
/// out.
std::vector<Lanes::Bar> drawn_bars(const std::vector<Lanes::Bar>& all, double whole) {
  const double nothing = 5e-4 * whole;  // half a pixel
  std::vector<Lanes::Bar> bars;
  for (const Lanes::Bar& bar : all) {
    const bool is_near = !bars.empty() && static_cast<double>(bar.start - bars.back().end) < nothing;
    if (is_near && bars.back().kind == bar.kind)
      bars.back().end = std::max(bars.back().end, bar.end);
    else if (!is_near || static_cast<double>(bar.end - bar.start) >= nothing)
      bars.push_back(bar);
  }
  return bars;
}

Html lane_html(const Lanes& part, const Lanes::Lane& lane, double whole) {
  Html svg{fmt::format("<div class=\"lane\"><span>{}</span><svg class=\"stack thin\" role=\"img\"{}>\n",
                       as_text(lane.name).markup, attribute("aria-label", lane.name))};
  for (const Lanes::Bar& bar : drawn_bars(lane.bars, whole))
    svg.markup += fmt::format("<rect class=\"{}\" x=\"{:.3f}%\" width=\"{:.3f}%\" height=\"100%\"/>\n",
                              part.kinds[bar.kind].fill, 100 * static_cast<double>(bar.start) / whole,
                              100 * static_cast<double>(bar.end - bar.start) / whole);
  return svg + Html{"</svg></div>\n"};
}

Html axis_html(Seconds whole) {
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
  return {
      fmt::format("<div class=\"lane\"><span>time, {}</span><svg class=\"time-axis\" "
                  "aria-hidden=\"true\">\n{}</svg></div>\n",
                  unit.name, ticks)};
}

Html controls_html() {
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

std::int64_t end_of(const Lanes& part) {
  std::int64_t end = 0;
  for (const Lanes::Track& track : part.tracks)
    for (const Lanes::Lane& lane : track.lanes)
      for (const Lanes::Bar& bar : lane.bars) end = std::max(end, bar.end);
  return end;
}

}  // namespace

Json lanes_json(const Lanes& part) {
  Json kinds = Json::array();
  for (const Lanes::Kind& kind : part.kinds) kinds.push_back({kind.fill, kind.name});
  Json items = Json::array();
  for (const Lanes::Item& item : part.items)
    items.push_back(
        {item.title, item.details, std::llround(item.flops), std::llround(item.bytes), item.alone});
  Json tracks = Json::array();
  for (const Lanes::Track& track : part.tracks) {
    Json lanes = Json::array();
    for (const Lanes::Lane& lane : track.lanes) {
      Json numbers = Json::array();
      std::int64_t before = 0;
      for (const Lanes::Bar& bar : lane.bars) {
        for (const std::int64_t number :
             {bar.start - before, bar.end - bar.start, static_cast<std::int64_t>(bar.kind), bar.item})
          numbers.push_back(number);
        before = bar.end;
      }
      lanes.push_back(Json::array({lane.name, std::move(numbers)}));
    }
    tracks.push_back(Json::array({track.name, std::move(lanes)}));
  }
  return {{"key", part.key}, {"title", part.title}, {"end", end_of(part)},
          {"kinds", kinds},  {"items", items},      {"tracks", tracks}};
}

Html lanes_html(const Lanes& part) {
  const auto whole = static_cast<double>(end_of(part));
  if (whole <= 0) return {};
  Html picture;
  for (const Lanes::Lane& lane : part.still) picture += lane_html(part, lane, whole);
  picture += axis_html(Seconds(1e-9 * whole)) + element("figcaption", part.caption);
  std::vector<LegendEntry> entries;
  for (const Lanes::Kind& kind : part.kinds) entries.push_back({swatch(kind.fill), kind.name});
  return element("div",
                 controls_html() +
                     Html{"<canvas tabindex=\"0\" role=\"img\" aria-label=\"timeline; the controls above "
                          "zoom and pan it\" "
                          "aria-describedby=\"timeline-range\"></canvas><div class=\"tip\" role=\"status\" "
                          "hidden=\"hidden\"></div>\n"} +
                     element("p",
                             "Zoom: pinch, Ctrl+wheel or +/-. Pan: drag or arrows. 0 resets. Point at a bar "
                             "for its details.",
                             " class=\"hint\""),
                 " id=\"timeline-view\" hidden=\"hidden\"") +
         Html{"\n"} + element("figure", Html{"\n"} + picture, " class=\"still\"") + Html{"\n"} +
         legend(entries) +
         data_for_script("timeline-data",
                         lanes_json(part).dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace trainyard::doc
