#include "convert/horovod_report.hpp"

#include "interchange/input_text.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/quantity.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

Seconds from_us(double us) { return Seconds(us * 1e-6); }
Seconds from_us(std::int64_t us) { return from_us(static_cast<double>(us)); }

Seconds mean_of(std::int64_t total, int count) {
  return count > 0 ? from_us(static_cast<double>(total) / count) : Seconds();
}

/// A name of the file, without what terminals cannot show.
std::string clean(const std::string& name) {
  const std::string text = shown(name, 60);
  return text.substr(1, text.rfind('\'') - 1);
}

std::string bytes_in_words(const HorovodCollective& its) {
  if (its.sized == 0) return "-";
  const std::string sum = grouped(static_cast<std::int64_t>(std::min(its.bytes, 9e18)));
  return its.unsized > 0 ? "> " + sum : sum;
}

}  // namespace

std::string horovod_text(const HorovodTimeline& timeline, const PrintStyle& style) {
  std::string text =
      hanging("timeline   ",
              fmt::format("{} events of {} in {}{}", grouped(static_cast<std::int64_t>(timeline.events)),
                          plural(timeline.tensors, "tensor"), estimate(from_us(timeline.span)),
                          timeline.is_closed ? "" : "; not closed, as Horovod leaves it"),
              style.width);
  text += hanging("cycles     ",
                  timeline.cycle ? fmt::format("{}, one every {} (median)", grouped(timeline.cycles),
                                               estimate(from_us(*timeline.cycle)))
                                 : std::string("not marked: HOROVOD_TIMELINE_MARK_CYCLES=1"),
                  style.width);
  Table collectives({text_column(), number_column(), number_column(), number_column(), number_column(),
                     number_column(), number_column()},
                    {.gap = 2});
  collectives.row("collective", "number", "tensors", "fused", "largest", "bytes", "negotiated");
  for (const auto& [kind, its] : timeline.collectives) {
    collectives.row(
        clean(kind), grouped(its.collectives), grouped(its.tensors),
        its.collectives > 0 ? fmt::format("{:.2f}", static_cast<double>(its.tensors) / its.collectives) : "-",
        its.largest, bytes_in_words(its),
        its.negotiations > 0 ? estimate(mean_of(its.negotiated, its.negotiations)) : "-");
  }
  text += "\n" + collectives.text(style.width);
  text += hanging("", "fused: tensors per collective, mean; negotiated: per tensor, until all ranks have it",
                  style.width);
  Table activities({text_column(), number_column(), number_column(), number_column(), number_column()},
                   {.gap = 2});
  activities.row("activity", "number", "total", "mean", "longest");
  for (const auto& [name, its] : timeline.activities)
    activities.row(clean(name), grouped(its.count), estimate(from_us(its.total)),
                   estimate(mean_of(its.total, its.count)), estimate(from_us(its.longest)));
  text += "\n" + activities.text(style.width);
  if (!timeline.ranks.empty()) {
    Table ranks({text_column(), number_column(), number_column(), number_column()}, {.gap = 2});
    ranks.row("rank", "negotiations", "came last", "waits per tensor");
    for (const HorovodRank& rank : timeline.ranks)
      ranks.row(rank.rank, grouped(rank.negotiations), grouped(rank.last),
                estimate(mean_of(rank.waiting, rank.negotiations)));
    text += "\n" + ranks.text(style.width);
  }
  const auto left_out = [&](int count, std::string_view what) {
    if (count > 0) text += hanging("left out   ", fmt::format("{} {}", grouped(count), what), style.width);
  };
  if (timeline.still_open + timeline.odd > 0) text += "\n";
  left_out(timeline.still_open, "spans without an end");
  left_out(timeline.odd, "events without a time, a name or a matching begin event, or longer than 7 days");
  return text;
}

nlohmann::ordered_json horovod_json(const HorovodTimeline& timeline) {
  nlohmann::ordered_json collectives = nlohmann::ordered_json::object();
  for (const auto& [kind, its] : timeline.collectives) {
    collectives[kind] = {
        {"collectives", its.collectives},
        {"tensors", its.tensors},
        {"largest_fusion", its.largest},
        {"bytes", its.sized > 0 ? nlohmann::ordered_json(its.bytes) : nlohmann::ordered_json()},
        {"unsized", its.unsized},
        {"negotiations", its.negotiations},
        {"negotiated_s", from_us(its.negotiated).si()}};
  }
  nlohmann::ordered_json activities = nlohmann::ordered_json::object();
  for (const auto& [name, its] : timeline.activities) {
    activities[name] = {
        {"count", its.count}, {"total_s", from_us(its.total).si()}, {"longest_s", from_us(its.longest).si()}};
  }
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const HorovodRank& rank : timeline.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"negotiations", rank.negotiations},
                     {"last", rank.last},
                     {"waiting_s", from_us(rank.waiting).si()}});
  }
  return {{"file", base_name(timeline.file)},
          {"events", timeline.events},
          {"closed", timeline.is_closed},
          {"tensors", timeline.tensors},
          {"span_s", from_us(timeline.span).si()},
          {"cycles", timeline.cycles},
          {"cycle_s",
           timeline.cycle ? nlohmann::ordered_json(from_us(*timeline.cycle).si()) : nlohmann::ordered_json()},
          {"collectives", std::move(collectives)},
          {"activities", std::move(activities)},
          {"ranks", std::move(ranks)},
          {"still_open", timeline.still_open},
          {"left_out", timeline.odd}};
}

}  // namespace trainyard
