#include "report/run_words.hpp"
#include "report/table_columns.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace trainyard {

namespace {

/// The rank that delays the others, if there is one: that with the fewest gradients, or else the shortest
/// wait.
void add_slowest(doc::Section& section, const Updates& updates) {
  constexpr double alike = 0.005;  // of the measured time
  const auto [fewest, most] = std::ranges::minmax_element(updates.workers, {}, &WorkerRow::gradients);
  if (fewest->gradients < most->gradients) {
    section.add(
        doc::Fact{{},
                  "slowest rank",
                  fmt::format("{} (node {})", index(fewest->rank), index(fewest->node)),
                  fmt::format("updates used {} of its gradients, and {} of rank {}",
                              grouped(fewest->gradients), grouped(most->gradients), index(most->rank))});
    return;
  }
  const auto [least, longest] = std::ranges::minmax_element(updates.workers, {}, &WorkerRow::waiting);
  if (longest->waiting - least->waiting < alike * updates.measured) return;
  section.add(doc::Fact{{},
                        "slowest rank",
                        fmt::format("{} (node {})", index(least->rank), index(least->node)),
                        fmt::format("waited {}; rank {} waited {}", estimate(least->waiting),
                                    index(longest->rank), estimate(longest->waiting))});
}

/// "39.4-39.8 ms".
std::string range_in_words(Seconds low, Seconds high) {
  const std::string begin = estimate(low);
  const std::string end = estimate(high);
  const std::size_t blank = begin.find(' ');
  const bool has_same_unit = begin.substr(blank) == end.substr(std::min(end.size(), end.find(' ')));
  return has_same_unit ? begin.substr(0, blank) + "-" + end : begin + " to " + end;
}

/// Number of gradients by age; one bar for several ages if there are many.
void add_staleness(doc::Section& section, const Updates& updates) {
  constexpr std::size_t most_bars = 60;
  if (updates.staleness.gradients.size() < 2) return;
  const std::size_t ages = updates.staleness.gradients.size() - 1;
  const std::size_t together = (ages + most_bars - 1) / most_bars;
  struct Bar {
    std::size_t first = 0, last = 0;
    std::int64_t gradients = 0;
  };
  std::vector<Bar> bars;
  std::vector<double> heights;
  std::int64_t all = 0;
  for (std::size_t age = 1; age <= ages; ++age) {
    if ((age - 1) % together == 0) bars.push_back({.first = age, .last = age, .gradients = 0});
    bars.back().last = age;
    bars.back().gradients += updates.staleness.gradients[age];
    all += updates.staleness.gradients[age];
  }
  if (all == 0) return;
  for (const Bar& bar : bars) heights.push_back(static_cast<double>(bar.gradients));
  doc::Chart chart{.key = "staleness",
                   .title = "gradients by staleness",
                   .across = linear_axis({0, static_cast<double>(ages) + 0.5}, FluidPlot::across_begin,
                                         FluidPlot::across_length, 9, rounded_tick),
                   .up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, 7, rounded_tick),
                   .across_title = "staleness, updates (1 is fresh)",
                   .up_title = "gradients"};
  for (const Bar& bar : bars) {
    const auto gradients = static_cast<double>(bar.gradients);
    const std::string range =
        bar.first == bar.last ? std::to_string(bar.first) : fmt::format("{} to {}", bar.first, bar.last);
    chart.columns.push_back({.kind = "compute",
                             .text = fmt::format("{}: {}, {}", range, count(bar.gradients, "gradient"),
                                                 percent(gradients / static_cast<double>(all))),
                             .from = static_cast<double>(bar.first) - 0.45,
                             .to = static_cast<double>(bar.last) + 0.45,
                             .height = gradients});
  }
  section.add(doc::Heading{"age of gradients when an update used them", {}, doc::Shown::browser});
  section.add(std::move(chart));
}

/// How each rank spent the measured time.
void add_workers(doc::Section& section, const Updates& updates) {
  constexpr std::size_t most_workers = 64;
  const std::span<const WorkerRow> rows =
      std::span(updates.workers).first(std::min(most_workers, updates.workers.size()));
  doc::Table table{.key = "ranks",
                   .title = "ranks",
                   .legend = {{"compute", "computing"},
                              {"wasted-compute", "wasted"},
                              {"communication", "communicating"},
                              {"waiting", "waiting"},
                              {"input", "loading samples"}},
                   .shown = doc::Shown::browser};
  add_column(table, "rank", rows, [](const WorkerRow& row) { return std::to_string(index(row.rank)); });
  add_column(table, "node", rows, [](const WorkerRow& row) { return std::to_string(index(row.node)); });
  add_column(table, "use of its time", rows, [&](const WorkerRow& row) {
    doc::Cell use;
    const auto add = [&](const char* fill, const char* name, Seconds time) {
      use.bar.push_back({fill, name, time / updates.measured, estimate(time)});
    };
    add("compute", "computing", row.computing - row.wasted);
    add("wasted-compute", "wasted", row.wasted);
    add("communication", "communicating", row.communicating);
    add("waiting", "waiting", row.waiting);
    add("input", "loading", row.loading);
    return use;
  });
  constexpr std::pair<const char*, Seconds WorkerRow::*> times[] = {
      {"computing", &WorkerRow::computing},
      {"wasted", &WorkerRow::wasted},
      {"communicating", &WorkerRow::communicating},
      {"waiting", &WorkerRow::waiting},
      {"loading", &WorkerRow::loading}};
  for (const auto& [head, time] : times)
    add_column(table, head, rows, [member = time](const WorkerRow& row) { return row.*member; });
  add_column(table, "gradients used", rows, [](const WorkerRow& row) { return row.gradients; });
  section.add(doc::Heading{"ranks", {}, doc::Shown::browser});
  section.add(doc::Sentence{
      .text =
          fmt::format("Over the measured {}. Computing includes wasted time.{}", estimate(updates.measured),
                      rows.size() < updates.workers.size()
                          ? fmt::format(" The first {}; workers.csv has all.", rows.size())
                          : ""),
      .shown = doc::Shown::browser});
  section.add(std::move(table));
}

void add_servers(doc::Section& section, const Updates& updates) {
  if (updates.servers.empty()) return;
  doc::Table table{.key = "servers", .title = "servers", .shown = doc::Shown::browser};
  add_column(table, "server", updates.servers, [](const ServerRow& row) { return row.name; });
  add_column(table, "", updates.servers,
             [](const ServerRow& row) { return bar_cell("communication", "busy", row.utilization); });
  add_column(table, "utilization", updates.servers,
             [](const ServerRow& row) { return Percent{row.utilization}; });
  section.add(doc::Heading{"servers", {}, doc::Shown::browser});
  section.add(std::move(table));
}

}  // namespace

std::string rule_in_words(const UpdateSettings& settings) {
  std::string text(config::name_of(settings.rule));
  const UpdateRuleTraits& rule = traits(settings.rule);
  if (rule.takes_k()) text += fmt::format(", k = {}", settings.k);
  if (rule.is_bounded()) text += fmt::format(", bound {}", settings.bound);
  if (rule.sums_steps && !rule.in_background)
    text += fmt::format(" every {}", count(settings.push_every, "step"));
  if (rule.in_background)
    text += fmt::format(", push every {}, fetch every {}", settings.push_every,
                        count(settings.fetch_every, "step"));
  return text;
}

std::string spread_in_words(const Updates& updates) {
  if (updates.counts.repeats < 2) return {};
  return fmt::format("; {} ({} repeats, {} confidence)", range_in_words(updates.time.low, updates.time.high),
                     updates.counts.repeats, percent(updates.time.confidence));
}

void add_activities(doc::Document& page, const Run& run) {
  const Updates& updates = *updates_of(run);
  doc::Section& section =
      page.section("where", "where the time goes", "all ranks, share of the measured time");
  const WorkerRow sum = sum_of(updates.workers);
  const auto ranks = static_cast<double>(updates.workers.size());
  const auto add = [&](const char* label, Seconds time, const char* fill) {
    section.add(doc::Share{.label = label,
                           .part = time.si() / ranks,
                           .whole = updates.measured.si(),
                           .text = human_like(time / ranks, updates.measured),
                           .fill = fill});
  };
  add("computing", sum.computing - sum.wasted, "compute");
  add("communicating", sum.communicating, "communication");
  add("waiting", sum.waiting, "waiting");
  if (sum.loading > Seconds{}) add("loading", sum.loading, "input");
  add("wasted", sum.wasted, "wasted-compute");
  if (updates.workers.size() > 1) add_slowest(section, updates);
}

void add_updates(doc::Document& page, const Run& run) {
  if (updates_of(run) == nullptr) return;
  const Updates& updates = *updates_of(run);
  doc::Section& section = page.section("updates", "updates");
  const auto on_page = [&](const char* label, std::string value, std::string remark) {
    section.add(doc::Fact{{}, label, std::move(value), std::move(remark), false, doc::Shown::pages});
  };
  on_page("update rule", rule_in_words(updates.settings), "which gradients an update waits for");
  const double rate = 1 / updates.time.median.si();
  section.add(doc::Fact{"updates_per_s", "rate", doc::Value(rounded(rate) + " /s", rate),
                        fmt::format("{} gradients per update", rounded(gradients_in_update(updates)))});
  on_page("measured", grouped(updates.measured_updates),
          fmt::format("updates in each of {} repeats", updates.counts.repeats));
  section.add(doc::Fact{
      "staleness_mean", "staleness", doc::Value(rounded(updates.staleness.mean), updates.staleness.mean),
      fmt::format("updates on average, {} at most (1 is fresh)", grouped(updates.staleness.max))});
  if (traits(updates.settings.rule).is_bounded())
    section.add(doc::Fact{{},
                          "lead",
                          grouped(updates.lead),
                          fmt::format("largest lead of a rank over the slowest, in finished steps; bound {}",
                                      updates.settings.bound)});
  const ServerRow* const busiest = busiest_server(updates);
  if (busiest != nullptr)
    section.add(doc::Fact{{},
                          "busiest server",
                          percent(busiest->utilization),
                          fmt::format("utilization of the {}", busiest->name)});
  on_page("wasted", estimate(updates.wasted), "cancelled computing of all ranks, per update");
  add_staleness(section, updates);
  add_workers(section, updates);
  add_servers(section, updates);
}

}  // namespace trainyard
