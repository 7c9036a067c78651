#include "html/fluid_plot.hpp"
#include "html/links_with_same_load.hpp"
#include "html/run_sections.hpp"
#include "report/page.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace trainyard {

namespace {

constexpr std::size_t most_rows_listed = 64;

/// "1.2 ms" or "1.2 ms to 1.3 ms".
template <class Q>
std::string range_in_words(Q least, Q most) {
  const std::string low = human(least);
  const std::string high = human(most);
  return low == high ? low : low + " to " + high;
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

}  // namespace

Html collectives_html(const Run& run) {
  if (step_of(run).collectives.empty()) return {};
  HtmlTable table("collectives", {{"collective", true},
                                  {"operation", true},
                                  {"algorithm", true},
                                  {"protocol", true},
                                  {"channels"},
                                  {"size"},
                                  {"tensors"},
                                  {"ready"},
                                  {"starts"},
                                  {"takes"},
                                  {"bound"},
                                  {"algbw"},
                                  {"busbw"}});
  for (const CollectiveRow& row : step_of(run).collectives) {
    if (table.rows() == most_rows_listed) break;
    table.row(std::vector<std::string>{
        row.name, std::string(config::name_of(row.operation)), row.algorithm, row.protocol,
        grouped(row.channels), human(row.size), grouped(row.tensors), human(row.ready), human(row.start),
        human(row.end - row.start), human(row.bound), human(row.algbw), human(row.busbw)});
  }
  Html html = paragraph(
      "Ready: the last rank's gradients are there; starts: the stream is free too. Bound: no algorithm on "
      "this network is "
      "faster. algbw is size over time; busbw is comparable with the bandwidth of a link, as in nccl-tests.");
  if (step_of(run).collectives.size() > table.rows()) {
    html += paragraph(fmt::format("The first {} of {}; collectives.csv has all.", table.rows(),
                                  grouped(static_cast<std::int64_t>(step_of(run).collectives.size()))));
  }
  return html + table.html(step_of(run).collectives.size() > 20);
}

Html links_html(const Run& run) {
  if (run.links.rows.empty()) return {};
  constexpr std::size_t most_links = 40;
  HtmlTable kinds("kinds of links", {{"kind of link", true},
                                     {"busiest of them", true},
                                     {"", true},
                                     {"its use"},
                                     {"capacity"},
                                     {"its bytes"},
                                     {"bytes of all alike"},
                                     {"links"}});
  for (const LinksWithSameLoad& group : links_with_same_load(run.links.rows)) {
    if (kinds.rows() == most_rows_listed) break;
    kinds.row(std::vector<Html>{
        as_text(group.kind), as_text(group.busiest->name),
        share_bar("communication", group.busiest->utilization), as_text(percent(group.busiest->utilization)),
        as_text(human(group.busiest->capacity)), as_text(human(group.busiest->bytes)),
        as_text(range_in_words(group.least, group.most)), as_text(grouped(group.links))});
  }
  std::vector<const LinkRow*> busiest;
  for (const LinkRow& row : run.links.rows) busiest.push_back(&row);
  std::ranges::stable_sort(busiest, std::greater{}, &LinkRow::utilization);
  busiest.resize(std::min(most_links, busiest.size()));
  HtmlTable each("busiest links", {{"link", true}, {"", true}, {"use"}, {"capacity"}, {"bytes"}});
  for (const LinkRow* row : busiest) {
    each.row(std::vector<Html>{as_text(row->name), share_bar("communication", row->utilization),
                               as_text(percent(row->utilization)), as_text(human(row->capacity)),
                               as_text(human(row->bytes))});
  }
  const std::string time = updates_of(run) ? "the run" : "the step";
  return paragraph(fmt::format(
             "Use is bytes over what the link could carry in {}; directions count apart. Links of one kind "
             "differ in numbers only. On average over the links used: {}.",
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
    return paragraph(fmt::format("All {} ranks are alike: {} of kernels, {} of communication, done after {}.",
                                 grouped(run.ranks), human(rank.compute), human(rank.communication),
                                 human(rank.end)));
  }
  HtmlTable table("ranks",
                  {{"rank", true}, {"node", true}, {"GPU", true}, {"kernels"}, {"communication"}, {"ends"}});
  for (const RankRow& row : run.rank_rows) {
    if (table.rows() == most_rows_listed) break;
    table.row(std::vector<std::string>{grouped(index(row.rank)), grouped(index(row.node)), row.gpu,
                                       human(row.compute), human(row.communication), human(row.end)});
  }
  Html html;
  if (table.rows() < run.rank_rows.size()) {
    html = paragraph(
        fmt::format("The first {} of {} ranks; ranks.csv has all.", table.rows(), grouped(run.ranks)));
  }
  return html + table.html(table.rows() > 20);
}

Html memory_html(const Run& run) {
  if (!run.memory) return {};
  const MemoryReport& memory = *run.memory;
  std::vector<BarPart> bar;
  HtmlTable table("memory by term", {{"term", true}, {"bytes"}, {"of the GPU's"}, {"what it is", true}});
  int number = 0;
  for (const MemoryTerm& term : memory_terms) {
    const Bytes bytes = memory.terms.*term.bytes;
    const double share = bytes / memory.capacity;
    std::string name(term.name);
    std::ranges::replace(name, '_', ' ');
    const std::string kind = fmt::format("term{}", number++);
    if (bytes > Bytes{})
      bar.push_back({kind, name, share, fmt::format("{}, {}", human(bytes), percent(share))});
    table.row(std::vector<Html>{swatch(kind) + as_text(" " + name), as_text(human(bytes)),
                                as_text(percent(share)), as_text(term.what)});
  }
  bar.push_back(
      {"free", "free", std::max(0.0, 1 - memory.utilization), human(memory.capacity - memory.peak)});
  table.row(std::vector<std::string>{"peak", human(memory.peak), percent(memory.utilization),
                                     "the fullest moment: backward begins"});
  table.row(std::vector<std::string>{"capacity", human(memory.capacity), "100.0 %", memory.gpu});
  return stacked_bar("memory of a GPU by term", bar) + table.html() +
         paragraph(fmt::format("batch_per_gpu {} {}", grouped(memory.batch_per_gpu), verdict(memory)));
}

}  // namespace trainyard
