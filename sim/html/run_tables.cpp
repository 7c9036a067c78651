#include "document/fluid_plot.hpp"
#include "document/page.hpp"
#include "html/links_with_same_load.hpp"
#include "html/run_sections.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

constexpr std::size_t most_rows_listed = 64;

/// Whether the times of all ranks are equal except for rounding.
bool are_alike(const Run& run) {
  constexpr double rounding = 1e-9;
  return std::ranges::all_of(
      std::array{&RankRow::compute, &RankRow::communication, &RankRow::end}, [&](Seconds RankRow::*time) {
        const auto [least, most] = std::ranges::minmax_element(run.rank_rows, {}, time);
        return (*most).*time - (*least).*time <= rounding * run.pace.time;
      });
}

}  // namespace

namespace {

/// For each collective the time for which it kept a rank from computing: of the first rank of the class that
/// waits longest for it.
std::vector<Seconds> exposed_times(const Run& run) {
  std::vector<Seconds> times(step_of(run).collectives.size());
  for (const ClassStep& one : step_of(run).classes) {
    for (const ExposedCollective& its : step_parts(run, one).collectives)
      times[at(its.collective)] = std::max(times[at(its.collective)], its.exposed);
  }
  return times;
}

/// For a cell: empty where it is zero.
std::optional<Seconds> if_any(Seconds time) { return time > Seconds{} ? std::optional(time) : std::nullopt; }

/// The step's collectives, those with the longest exposed times first, then in order.
std::vector<std::size_t> exposed_first(const std::vector<Seconds>& exposed) {
  std::vector<std::size_t> order(exposed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return exposed[i]; });
  return order;
}

/// Collectives of ranks that share a model or replay traces of their own: which groups run them, and how
/// often.
Html layout_collectives_html(const Run& run) {
  HtmlTable table("collectives", {{"collective", true},
                                  {"operation", true},
                                  {"groups", true},
                                  {"algorithm", true},
                                  {"protocol", true},
                                  {"exposed"},
                                  {"times"},
                                  {"size"},
                                  {"takes"},
                                  {"bound"},
                                  {"algbw"},
                                  {"busbw"}});
  const std::vector<CollectiveRow>& rows = step_of(run).collectives;
  const std::vector<Seconds> exposed = exposed_times(run);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Tensor-parallel collectives keep the rank from computing as long as they run, but for what passes
  // overlap.
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) {
    const Seconds in_step = rows[i].rounds * (rows[i].end - rows[i].start);
    return std::pair(traits(rows[i].axis).are_replicas() ? exposed[i] : in_step, in_step);
  });
  for (const std::size_t i : order) {
    if (table.rows() == most_rows_listed) break;
    const CollectiveRow& row = rows[i];
    table.row(row.name, config::name_of(row.operation), config::name_of(row.axis), row.algorithm,
              row.protocol, if_any(exposed[i]), grouped(row.rounds), row.size, row.end - row.start, row.bound,
              row.algbw, row.busbw);
  }
  std::string listed;
  if (rows.size() > table.rows()) {
    listed = fmt::format(", {} of {}; collectives.csv has all", table.rows(),
                         grouped(static_cast<std::int64_t>(rows.size())));
  }
  return paragraph(fmt::format(
             "Those that keep ranks longest from computing first{}. Exposed: time in which a rank waits for "
             "a collective of gradients or parameters and computes nothing; tensor-parallel collectives have "
             "no such time each, only their sum, and stand in the order of their time in a step. Times: how "
             "often a step runs "
             "it. Takes: its first run. Bound: the shortest time that any algorithm could take on this "
             "network. algbw: size over time. busbw: comparable with the bandwidth of a link, as in "
             "nccl-tests.",
             listed)) +
         table.html(table.rows() > 20);
}

}  // namespace

Html collectives_html(const Run& run) {
  if (step_of(run).collectives.empty()) return {};
  if (has_bubbles(run.experiment)) return layout_collectives_html(run);
  HtmlTable table("collectives", {{"collective", true},
                                  {"operation", true},
                                  {"algorithm", true},
                                  {"protocol", true},
                                  {"exposed"},
                                  {"channels"},
                                  {"size"},
                                  {"tensors"},
                                  {"ready"},
                                  {"starts"},
                                  {"takes"},
                                  {"bound"},
                                  {"algbw"},
                                  {"busbw"}});
  const std::vector<Seconds> exposed = exposed_times(run);
  for (const std::size_t i : exposed_first(exposed)) {
    if (table.rows() == most_rows_listed) break;
    const CollectiveRow& row = step_of(run).collectives[i];
    table.row(row.name, config::name_of(row.operation), row.algorithm, row.protocol, if_any(exposed[i]),
              grouped(row.channels), row.size, grouped(row.tensors), row.ready, row.start,
              row.end - row.start, row.bound, row.algbw, row.busbw);
  }
  Html html = paragraph(
      "Those with the longest exposed time first, then in order. Exposed: time in which a rank waits for it "
      "and "
      "computes nothing. Ready: the gradients of all ranks are complete. Starts: the communication stream is "
      "free too. Bound: "
      "the shortest time that any algorithm could take on this network. algbw: size over time. busbw: "
      "comparable with the bandwidth of a link, as in nccl-tests.");
  if (step_of(run).collectives.size() > table.rows()) {
    html += paragraph(fmt::format("{} of {}; collectives.csv has all.", table.rows(),
                                  grouped(static_cast<std::int64_t>(step_of(run).collectives.size()))));
  }
  return html + table.html(step_of(run).collectives.size() > 20);
}

Html links_html(const Run& run) {
  if (run.links.rows.empty()) return {};
  constexpr std::size_t most_links = 40;
  HtmlTable kinds("kinds of links", {{"kind of link", true},
                                     {"busiest link", true},
                                     {"", true},
                                     {"utilization"},
                                     {"capacity"},
                                     {"bytes"},
                                     {"least of the kind"},
                                     {"most of the kind"},
                                     {"links"}});
  for (const LinksWithSameLoad& group : links_with_same_load(run.links.rows)) {
    if (kinds.rows() == most_rows_listed) break;
    kinds.row(group.kind, group.busiest->name, share_bar("communication", group.busiest->utilization),
              percent(group.busiest->utilization), group.busiest->capacity, group.busiest->bytes, group.least,
              group.most, grouped(group.links));
  }
  std::vector<const LinkRow*> busiest;
  for (const LinkRow& row : run.links.rows) busiest.push_back(&row);
  std::ranges::stable_sort(busiest, std::greater{}, &LinkRow::utilization);
  busiest.resize(std::min(most_links, busiest.size()));
  HtmlTable each("busiest links", {{"link", true}, {"", true}, {"utilization"}, {"capacity"}, {"bytes"}});
  for (const LinkRow* row : busiest) {
    each.row(row->name, share_bar("communication", row->utilization), percent(row->utilization),
             row->capacity, row->bytes);
  }
  const std::string time = updates_of(run) ? "the run" : "the step";
  return paragraph(fmt::format("Utilization: bytes relative to what the link could carry in {}. Each "
                               "direction counts separately. Links of one kind differ only in the numbers of "
                               "their names. Mean over the links used: {}.",
                               time, percent(run.links.mean))) +
         kinds.html() +
         folded(busiest.size() < run.links.rows.size()
                    ? fmt::format("The {} busiest of {} links; links.csv has all", busiest.size(),
                                  grouped(static_cast<std::int64_t>(run.links.rows.size())))
                    : "Every link",
                each.html(true));
}

Html ranks_html(const Run& run) {
  if (updates_of(run) || run.ranks == 1 || run.rank_rows.empty()) return {};  // workers: updates_html
  if (are_alike(run)) {
    const RankRow& rank = run.rank_rows.front();
    return paragraph(fmt::format(
        "All {} ranks have the same times: {} of kernels, {} of communication, finished after {}.",
        grouped(run.ranks), estimate(rank.compute), estimate(rank.communication), estimate(rank.end)));
  }
  HtmlTable table("ranks",
                  {{"rank", true}, {"node", true}, {"GPU", true}, {"kernels"}, {"communication"}, {"ends"}});
  for (const RankRow& row : run.rank_rows) {
    if (table.rows() == most_rows_listed) break;
    table.row(grouped(index(row.rank)), grouped(index(row.node)), row.gpu, row.compute, row.communication,
              row.end);
  }
  Html html;
  if (table.rows() < run.rank_rows.size()) {
    html = paragraph(
        fmt::format("The first {} of {} ranks; ranks.csv has all.", table.rows(), grouped(run.ranks)));
  }
  return html + table.html(table.rows() > 20);
}

}  // namespace trainyard
