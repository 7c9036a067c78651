#include "document/fluid_plot.hpp"
#include "document/page.hpp"
#include "html/run_sections.hpp"
#include "report/run_words.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <fmt/format.h>

namespace trainyard {

namespace {

/// Number of gradients by age; one bar for several ages if there are many.
Html staleness_html(const Updates& updates) {
  constexpr std::size_t most_bars = 60;
  if (updates.staleness.gradients.size() < 2) return {};
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
  if (all == 0) return {};
  for (const Bar& bar : bars) heights.push_back(static_cast<double>(bar.gradients));
  PlotAxis across = linear_axis({0, static_cast<double>(ages) + 0.5}, FluidPlot::across_begin,
                                FluidPlot::across_length, 9, rounded_tick);
  PlotAxis up = linear_axis(heights, FluidPlot::up_begin, FluidPlot::up_length, 7, rounded_tick);
  FluidPlot plot("histogram of the staleness of gradients", std::move(across),
                 "staleness, updates (1 is fresh)", std::move(up), "gradients");
  for (const Bar& bar : bars) {
    const auto gradients = static_cast<double>(bar.gradients);
    plot.column("compute", static_cast<double>(bar.first) - 0.45, static_cast<double>(bar.last) + 0.45,
                gradients,
                fmt::format("{}: {}, {}",
                            bar.first == bar.last ? std::to_string(bar.first)
                                                  : fmt::format("{} to {}", bar.first, bar.last),
                            count(bar.gradients, "gradient"), percent(gradients / static_cast<double>(all))));
  }
  return subheading("Age of gradients when an update used them") + plot.html();
}

Html workers_html(const Updates& updates) {
  constexpr std::size_t most_workers = 64;
  HtmlTable table("ranks", {{"rank", true},
                            {"node", true},
                            {"use of its time", true},
                            {"computing"},
                            {"wasted"},
                            {"communicating"},
                            {"waiting"},
                            {"loading"},
                            {"gradients used"}});
  for (const WorkerRow& row : updates.workers) {
    if (table.rows() == most_workers) break;
    std::vector<BarPart> bar;
    const auto add = [&](const char* kind, const char* name, Seconds time) {
      bar.push_back({kind, name, time / updates.measured, estimate(time)});
    };
    add("compute", "computing", row.computing - row.wasted);
    add("wasted-compute", "wasted", row.wasted);
    add("communication", "communicating", row.communicating);
    add("waiting", "waiting", row.waiting);
    add("input", "loading", row.loading);
    table.row(grouped(index(row.rank)), grouped(index(row.node)), stacked_bar("time of a rank", bar),
              row.computing, row.wasted, row.communicating, row.waiting, row.loading, grouped(row.gradients));
  }
  Html html = subheading("Ranks");
  html += paragraph(fmt::format(
      "Over the measured {}. Computing includes wasted time.{}", estimate(updates.measured),
      table.rows() < updates.workers.size() ? fmt::format(" The first {}; workers.csv has all.", table.rows())
                                            : ""));
  html += legend({{swatch("compute"), "computing"},
                  {swatch("wasted-compute"), "wasted"},
                  {swatch("communication"), "communicating"},
                  {swatch("waiting"), "waiting"},
                  {swatch("input"), "loading samples"}});
  return html + table.html(table.rows() > 20);
}

Html servers_html(const Updates& updates) {
  if (updates.servers.empty()) return {};
  HtmlTable table("servers", {{"server", true}, {"", true}, {"utilization"}});
  for (const ServerRow& row : updates.servers) {
    table.row(row.name, share_bar("communication", row.utilization), percent(row.utilization));
  }
  return subheading("Servers") + table.html(table.rows() > 20);
}

}  // namespace

Html updates_html(const Run& run) {
  if (!updates_of(run)) return {};
  const Updates& updates = *updates_of(run);
  HtmlTable table("updates", {{"quantity", true}, {"value"}, {"", true}});
  const auto add = [&](const char* what, const std::string& value, const std::string& remark) {
    table.row(what, value, remark);
  };
  add("update rule", rule_in_words(updates.settings), "which gradients an update waits for");
  add("updates", rounded(1 / updates.time.median.si()) + " /s",
      fmt::format("{} gradients each; {} measured in each of {} repeats",
                  rounded(gradients_in_update(updates)), grouped(updates.measured_updates),
                  updates.counts.repeats));
  add("staleness", rounded(updates.staleness.mean),
      fmt::format("updates on average, {} at most (1 is fresh)", grouped(updates.staleness.max)));
  if (updates.settings.rule == UpdateRule::ssp)
    add("lead", grouped(updates.lead), "most finished steps that a rank was ahead of the slowest");
  add("wasted", estimate(updates.wasted), "cancelled computing of all ranks, per update");
  return table.html() + staleness_html(updates) + workers_html(updates) + servers_html(updates);
}

}  // namespace trainyard
