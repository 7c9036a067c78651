// Tables of a run's page: collectives, links, kernels, ranks.

#include "report/links_with_same_load.hpp"
#include "report/run_page.hpp"
#include "report/table_columns.hpp"
#include "run/layout_parts.hpp"
#include "run/step_parts.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <utility>

namespace trainyard {

namespace {

constexpr std::size_t most_rows_listed = 64;

template <class Rows>
std::int64_t size_of(const Rows& rows) {
  return static_cast<std::int64_t>(rows.size());
}

/// Whether the times of all ranks are equal except for rounding.
bool are_alike(const Run& run) {
  constexpr double rounding = 1e-9;
  return std::ranges::all_of(
      std::array{&RankRow::compute, &RankRow::communication, &RankRow::end}, [&](Seconds RankRow::*time) {
        const auto [least, most] = std::ranges::minmax_element(run.rank_rows, {}, time);
        return (*most).*time - (*least).*time <= rounding * run.pace.time;
      });
}

/// A collective, and the time for which it kept a rank from computing: of the first rank of the class that
/// waits longest for it.
struct ShownCollective {
  const CollectiveRow* row = nullptr;
  Seconds exposed = {};
};

/// The step's collectives, those that keep ranks longest from computing first, then in order.
std::vector<ShownCollective> collectives_of(const Run& run) {
  std::vector<ShownCollective> all;
  for (const CollectiveRow& row : step_of(run).collectives) all.push_back({&row});
  for (const ClassStep& one : step_of(run).classes) {
    for (const ExposedCollective& exposed : step_parts(run, one).collectives) {
      Seconds& most = all[at(exposed.collective)].exposed;
      most = std::max(most, exposed.exposed);
    }
  }
  std::ranges::stable_sort(all, std::greater{}, [&](const ShownCollective& one) {
    if (!has_bubbles(run.experiment)) return std::pair(one.exposed, Seconds{});
    // Tensor-parallel collectives keep the rank from computing as long as they run, but for what passes
    // overlap.
    const Seconds in_step = one.row->rounds * (one.row->end - one.row->start);
    return std::pair(traits(one.row->axis).are_replicas() ? one.exposed : in_step, in_step);
  });
  return all;
}

doc::Table collective_columns(const std::vector<ShownCollective>& rows, bool has_groups) {
  doc::Table table{.key = "collectives", .title = "collectives"};
  const auto add = [&](const char* head, const auto& of) {
    add_column(table, head, rows, [&](const ShownCollective& one) { return of(*one.row); });
  };
  add("collective", [](const auto& row) { return row.name; });
  add("operation", [](const auto& row) { return config::name_of(row.operation); });
  if (has_groups) add("groups", [](const auto& row) { return config::name_of(row.axis); });
  add("algorithm", [](const auto& row) { return row.algorithm; });
  add("protocol", [](const auto& row) { return row.protocol; });
  add_column(table, "exposed", rows, [](const ShownCollective& one) {
    return one.exposed > Seconds{} ? std::optional(one.exposed) : std::nullopt;
  });
  if (has_groups)
    add("times", [](const auto& row) { return row.rounds; });
  else
    add("channels", [](const auto& row) { return row.channels; });
  add("size", [](const auto& row) { return row.size; });
  if (!has_groups) {
    add("tensors", [](const auto& row) { return row.tensors; });
    add("ready", [](const auto& row) { return row.ready; });
    add("starts", [](const auto& row) { return row.start; });
  }
  add("takes", [](const auto& row) { return row.end - row.start; });
  add("bound", [](const auto& row) { return row.bound; });
  add("algbw", [](const auto& row) { return row.algbw; });
  add("busbw", [](const auto& row) { return row.busbw; });
  return table;
}

doc::Table kernel_table(const std::vector<const OpRow*>& rows, Seconds all, std::string title) {
  doc::Table table{.key = "kernels", .title = std::move(title)};
  add_column(table, "layer", rows, [](const OpRow* row) { return row->layer; });
  add_column(table, "phase", rows, [](const OpRow* row) { return config::name_of(row->phase); });
  add_column(table, "kind", rows, [](const OpRow* row) { return config::name_of(row->kind); });
  add_column(table, "shape", rows, [](const OpRow* row) { return row->shape; });
  add_column(table, "time", rows, [](const OpRow* row) { return row->duration; });
  add_column(table, "share", rows,
             [&](const OpRow* row) { return Percent{all > Seconds{} ? row->duration / all : 0}; });
  add_column(table, "FLOP rate", rows, [](const OpRow* row) {
    const bool has_rate = row->flops > Flops{} && row->duration > Seconds{};
    return has_rate ? std::optional(row->flops / row->duration) : std::nullopt;
  });
  add_column(table, "bytes", rows, [](const OpRow* row) {
    return row->bytes > Bytes{} ? std::optional(row->bytes) : std::nullopt;
  });
  add_column(table, "source", rows, [](const OpRow* row) { return config::name_of(row->source); });
  return table;
}

void add_kernels(doc::Section& section, const Run& run, const ClassStep& one) {
  constexpr std::size_t most_shown = 20;
  constexpr std::size_t most_listed = 600;
  if (one.ops.empty()) return;
  std::vector<const OpRow*> longest;
  Seconds all;
  for (const OpRow& row : one.ops) {
    longest.push_back(&row);
    all += row.duration;
  }
  std::vector<const OpRow*> in_order = longest;
  in_order.resize(std::min(most_listed, in_order.size()));
  std::ranges::stable_sort(longest, std::greater{}, &OpRow::duration);
  longest.resize(std::min(most_shown, longest.size()));
  const std::string kernels = grouped(size_of(one.ops));
  const std::string ranks = step_of(run).classes.size() > 1 ? " of " + one.name : std::string();
  section.add(doc::Heading{longest.size() < one.ops.size()
                               ? fmt::format("the {} longest of {} kernels{}", longest.size(), kernels, ranks)
                               : fmt::format("kernels{}, the longest first", ranks)});
  section.add(kernel_table(longest, all, "longest kernels"));
  if (longest.size() == one.ops.size()) return;
  doc::Table& table = section.add(kernel_table(in_order, all, "kernels in order"));
  table.folded = in_order.size() == one.ops.size()
                     ? fmt::format("All {} kernels in the order they run", kernels)
                     : fmt::format("The first {} kernels in the order they run; ops.csv has all {}",
                                   in_order.size(), kernels);
}

}  // namespace

void add_collectives(doc::Document& page, const Run& run) {
  std::vector<ShownCollective> rows = collectives_of(run);
  const bool has_groups = has_bubbles(run.experiment);
  std::string text = "Those that keep ranks longest from computing first";
  if (rows.size() > most_rows_listed)
    text += fmt::format(", {} of {}; collectives.csv has all", most_rows_listed, grouped(size_of(rows)));
  text += ". Exposed: time in which a rank waits for a collective and computes nothing.";
  text += has_groups
              ? " Tensor-parallel collectives have no such time each, only their sum, and stand in the "
                "order of their time in a step. Times: how often a step runs it. Takes: its first run."
              : " Ready: the gradients of all ranks are complete. Starts: the communication stream is "
                "free, too.";
  text +=
      " Bound: the shortest time that any algorithm could take on this network. algbw: size over time. "
      "busbw: comparable with the bandwidth of a link, as in nccl-tests.";
  if (rows.empty()) return;
  rows.resize(std::min(most_rows_listed, rows.size()));
  doc::Section& section = page.section("collectives", "collectives");
  section.add(doc::Sentence{text});
  section.add(collective_columns(rows, has_groups));
}

void add_links(doc::Document& page, const Run& run) {
  if (run.links.rows.empty()) return;
  constexpr std::size_t most_links = 40;
  std::vector<LinksWithSameLoad> groups = links_with_same_load(run.links.rows);
  groups.resize(std::min(most_rows_listed, groups.size()));
  doc::Table kinds{.key = "kinds", .title = "kinds of links"};
  const auto add = [&](const char* head, const auto& of) { add_column(kinds, head, groups, of); };
  add("kind of link", [](const auto& group) { return group.kind; });
  add("busiest link", [](const auto& group) { return group.busiest->name; });
  add("", [](const auto& group) { return bar_cell("communication", "busy", group.busiest->utilization); });
  add("utilization", [](const auto& group) { return Percent{group.busiest->utilization}; });
  add("capacity", [](const auto& group) { return group.busiest->capacity; });
  add("bytes", [](const auto& group) { return group.busiest->bytes; });
  add("least of the kind", [](const auto& group) { return group.least; });
  add("most of the kind", [](const auto& group) { return group.most; });
  add("links", [](const auto& group) { return group.links; });
  std::vector<const LinkRow*> busiest;
  for (const LinkRow& row : run.links.rows) busiest.push_back(&row);
  std::ranges::stable_sort(busiest, std::greater{}, &LinkRow::utilization);
  busiest.resize(std::min(most_links, busiest.size()));
  doc::Table each{.key = "links", .title = "busiest links"};
  add_column(each, "link", busiest, [](const LinkRow* row) { return row->name; });
  add_column(each, "", busiest,
             [](const LinkRow* row) { return bar_cell("communication", "busy", row->utilization); });
  add_column(each, "utilization", busiest, [](const LinkRow* row) { return Percent{row->utilization}; });
  add_column(each, "capacity", busiest, [](const LinkRow* row) { return row->capacity; });
  add_column(each, "bytes", busiest, [](const LinkRow* row) { return row->bytes; });
  each.folded = busiest.size() < run.links.rows.size()
                    ? fmt::format("The {} busiest of {} links; links.csv has all", busiest.size(),
                                  grouped(size_of(run.links.rows)))
                    : "Every link";
  doc::Section& section = page.section("links", "links");
  section.add(doc::Sentence{
      fmt::format("Utilization: bytes relative to the bytes that the link could carry in {}. Each direction "
                  "counts separately. Links of one kind differ only in the numbers of their names. Mean over "
                  "the links used: {}.",
                  updates_of(run) ? "the run" : "the step", percent(run.links.mean))});
  section.add(std::move(kinds));
  section.add(std::move(each));
}

void add_layers(doc::Document& page, const Run& run) {
  doc::Section& section = page.section("layers", "kernels and layers");
  const std::vector<ClassStep>& classes = step_of(run).classes;
  // Stages run the same kernels but for the ends of the model.
  if (run.experiment.layout) add_kernels(section, run, slowest_class(step_of(run)));
  if (!run.experiment.layout)
    for (const ClassStep& one : classes) add_kernels(section, run, one);
}

void add_ranks(doc::Document& page, const Run& run) {
  if (updates_of(run) || run.ranks == 1 || run.rank_rows.empty()) return;  // add_updates() has workers
  doc::Section& section = page.section("ranks", "ranks");
  if (are_alike(run)) {
    const RankRow& rank = run.rank_rows.front();
    section.add(doc::Sentence{fmt::format(
        "All {} ranks have the same times: {} of kernels, {} of communication, finished after {}.",
        grouped(run.ranks), estimate(rank.compute), estimate(rank.communication), estimate(rank.end))});
    return;
  }
  const std::span<const RankRow> rows =
      std::span(run.rank_rows).first(std::min(most_rows_listed, run.rank_rows.size()));
  if (rows.size() < run.rank_rows.size())
    section.add(doc::Sentence{
        fmt::format("The first {} of {} ranks; ranks.csv has all.", rows.size(), grouped(run.ranks))});
  doc::Table table{.key = "ranks", .title = "ranks"};
  add_column(table, "rank", rows, [](const RankRow& row) { return std::to_string(index(row.rank)); });
  add_column(table, "node", rows, [](const RankRow& row) { return std::to_string(index(row.node)); });
  add_column(table, "GPU", rows, [](const RankRow& row) { return row.gpu; });
  add_column(table, "kernels", rows, [](const RankRow& row) { return row.compute; });
  add_column(table, "communication", rows, [](const RankRow& row) { return row.communication; });
  add_column(table, "ends", rows, [](const RankRow& row) { return row.end; });
  section.add(std::move(table));
}

}  // namespace trainyard
