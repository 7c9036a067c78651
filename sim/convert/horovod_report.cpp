#include "convert/horovod_report.hpp"

#include "interchange/input_text.hpp"
#include "units/plural.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

Seconds from_us(double us) { return Seconds(us * 1e-6); }
Seconds from_us(std::int64_t us) { return from_us(static_cast<double>(us)); }

Seconds mean_of(std::int64_t total, int count) {
  return count > 0 ? from_us(static_cast<double>(total) / count) : Seconds();
}

/// A name in the file, in characters that terminals show.
std::string clean(const std::string& name) {
  const std::string text = shown(name, 60);
  return text.substr(1, text.rfind('\'') - 1);
}

std::string bytes_in_words(const HorovodCollective& one) {
  if (one.sized == 0) return "-";
  const std::string sum = grouped(static_cast<std::int64_t>(std::min(one.bytes, 9e18)));
  return one.unsized > 0 ? "> " + sum : sum;
}

doc::Value time_value(Seconds time) { return {estimate(time), time}; }

/// A column of texts, and columns of numbers.
doc::Table table_of(const std::string& key, const std::vector<std::string>& heads) {
  doc::Table table{.key = key, .title = key, .shape = {}};
  for (const std::string& head : heads)
    table.columns.push_back(table.columns.empty() ? doc::texts(head) : doc::numbers(head));
  return table;
}

doc::Table collectives_of(const HorovodTimeline& timeline) {
  doc::Table table =
      table_of("collectives", {"collective", "number", "tensors", "fused", "largest", "bytes", "negotiated"});
  for (const auto& [kind, one] : timeline.collectives) {
    const double fused = one.collectives > 0 ? static_cast<double>(one.tensors) / one.collectives : 0;
    const Seconds negotiated = mean_of(one.negotiated, one.negotiations);
    table.rows.push_back(
        {.cells = {clean(kind), grouped(one.collectives), grouped(one.tensors),
                   one.collectives > 0 ? doc::Value(fmt::format("{:.2f}", fused), fused) : doc::Value("-"),
                   fmt::format("{}", one.largest), bytes_in_words(one),
                   one.negotiations > 0 ? time_value(negotiated) : doc::Value("-")}});
  }
  return table;
}

}  // namespace

doc::Document horovod_document(const HorovodTimeline& timeline) {
  constexpr std::size_t label_width = 11;
  doc::Document page{.title = "A timeline of Horovod", .version = version()};
  doc::Section& file = page.account("timeline", "timeline", label_width);
  file.fact("timeline",
            fmt::format("{} events of {} in {}{}", grouped(static_cast<std::int64_t>(timeline.events)),
                        plural(timeline.tensors, "tensor"), estimate(from_us(timeline.span)),
                        timeline.is_closed ? "" : "; not closed, as Horovod leaves it"));
  file.fact("cycles", timeline.cycle ? fmt::format("{}, one every {} (median)", grouped(timeline.cycles),
                                                   estimate(from_us(*timeline.cycle)))
                                     : std::string("not marked: HOROVOD_TIMELINE_MARK_CYCLES=1"));
  doc::Section& collectives = page.account("collectives", "collectives");
  collectives.add(collectives_of(timeline));
  collectives.add(doc::Sentence{
      .text = "fused: tensors per collective, mean; negotiated: per tensor, until all ranks have it",
      .indent = 0});
  doc::Table activities = table_of("activities", {"activity", "number", "total", "mean", "longest"});
  for (const auto& [name, one] : timeline.activities)
    activities.rows.push_back(
        {.cells = {clean(name), grouped(one.count), time_value(from_us(one.total)),
                   time_value(mean_of(one.total, one.count)), time_value(from_us(one.longest))}});
  page.account("activities", "activities").add(std::move(activities));
  doc::Table ranks = table_of("ranks", {"rank", "negotiations", "came last", "waits per tensor"});
  for (const HorovodRank& one : timeline.ranks)
    ranks.rows.push_back({.cells = {fmt::format("{}", one.rank), grouped(one.negotiations), grouped(one.last),
                                    time_value(mean_of(one.waiting, one.negotiations))}});
  if (!ranks.rows.empty()) page.account("ranks", "ranks").add(std::move(ranks));
  doc::Section& left_out = page.account("left-out", "left out", label_width);
  for (const auto& [count, noun] :
       {std::pair(timeline.still_open, "spans without an end"),
        std::pair(timeline.odd,
                  "events without a time, a name or a matching begin event, or longer than 7 days")}) {
    if (count > 0) left_out.fact("left out", fmt::format("{} {}", grouped(count), noun));
  }
  return page;
}

nlohmann::ordered_json horovod_json(const HorovodTimeline& timeline) {
  nlohmann::ordered_json collectives = nlohmann::ordered_json::object();
  for (const auto& [kind, one] : timeline.collectives) {
    collectives[kind] = {
        {"collectives", one.collectives},
        {"tensors", one.tensors},
        {"largest_fusion", one.largest},
        {"bytes", one.sized > 0 ? nlohmann::ordered_json(one.bytes) : nlohmann::ordered_json()},
        {"unsized", one.unsized},
        {"negotiations", one.negotiations},
        {"negotiated_s", from_us(one.negotiated).si()}};
  }
  nlohmann::ordered_json activities = nlohmann::ordered_json::object();
  for (const auto& [name, one] : timeline.activities) {
    activities[name] = {
        {"count", one.count}, {"total_s", from_us(one.total).si()}, {"longest_s", from_us(one.longest).si()}};
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
