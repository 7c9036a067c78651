#include "report/collective_table.hpp"

#include "accuracy/expected_error.hpp"
#include "report/expected_error.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

namespace {

/// The number of decimals that nccl-tests gives a number of this size in seven columns.
std::string seven_columns(double number) {
  if (number >= 1e6) return fmt::format("{:7.0f}", number);
  if (number >= 1e4) return fmt::format("{:7.1f}", number);
  return fmt::format("{:7.2f}", number);
}

/// Fraction of the bandwidth or latency bound that is reached; 1 for a collective without work.
double bound_share(const CollectiveTiming& row) { return row.time.si() > 0 ? row.bound / row.time : 1; }

/// "ring/LL128/6": algorithm, protocol, channels.
std::string way_of(const CollectiveTiming& row) {
  return fmt::format("{}/{}/{}", row.algorithm, row.protocol, row.channels);
}

/// "0-3,8-11".
std::string ranges_of(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && index(ranks[last + 1]) == index(ranks[last]) + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(index(ranks[i]));
    if (last > i) text += fmt::format("-{}", index(ranks[last]));
    i = last + 1;
  }
  return text;
}

std::string group_line(const CollectiveReport& report, std::size_t g) {
  const CollectiveGroup& group = report.groups[g];
  std::string line = fmt::format("group {}: {} ranks, {}", g, group.ranks.size(), ranges_of(group.ranks));
  if (group.start > Seconds{}) line += fmt::format(", starts at {}", human(group.start));
  return line;
}

std::string expected_in_words(std::string_view sizes, const CollectiveError& error) {
  const PublishedCurve& nearest = error.nearest;
  return fmt::format("{}: {} to {} % (nearest of {} curves: {} on {} GPUs of {}, {})", sizes,
                     whole_percent(error.low), whole_percent(error.high), error.curves, nearest.of.operation,
                     nearest.of.gpus, nearest.of.platform, nearest.place);
}

/// What to expect of the bandwidths, a sentence for each range of sizes.
void add_expected(doc::Section& section, const CollectiveReport& report) {
  if (!report.expected_error) {
    if (const std::string& why = report.expected_error.error(); !why.empty())
      section.add(doc::Sentence{"expected error unknown: " + why});
    return;
  }
  section.add(doc::Sentence{
      "expected error: bandwidth measured relative to predicted in 80 % of the sizes of comparable published "
      "curves"});
  const CollectiveErrorsBySize& errors = *report.expected_error;
  if (errors.large) section.add(doc::Sentence{expected_in_words("from 1 MiB up", *errors.large)});
  if (errors.small) section.add(doc::Sentence{expected_in_words("below 1 MiB", *errors.small)});
}

bool has_groups(const CollectiveReport& report) {
  return report.groups.size() > 1 || static_cast<int>(report.groups.front().ranks.size()) < report.ranks;
}

/// What stands above the table.
void add_head(doc::Section& section, const CollectiveReport& report) {
  section.add(doc::Sentence{fmt::format("{} on {}: {} ranks on {} {}", config::name_of(report.operation),
                                        report.platform, report.ranks, report.nodes,
                                        report.nodes == 1 ? "node" : "nodes")});
  if (!report.changed.empty()) section.add(doc::Sentence{"set on the command line: " + report.changed});
  for (std::size_t g = 0; has_groups(report) && g < report.groups.size(); ++g)
    section.add(doc::Sentence{group_line(report, g)});
  for (const std::string& note : report.notes) section.add(doc::Sentence{note});
  for (const CollectiveSwitch& change : report.switches)
    section.add(doc::Sentence{
        fmt::format("kink: {} switches from {} to {} between {:.0f} and {:.0f} B{}", report.library,
                    change.from, change.to, change.below.si(), change.above.si(),
                    has_groups(report) ? fmt::format(", group {}", change.group) : "")});
  add_expected(section, report);
  section.add(doc::Sentence{
      "bound: shortest time of any algorithm on this network; share: bound / time; formula: closed form of "
      "the collective alone"});
}

/// nccl-tests' columns, which its tools count: on a narrow page they stay longest. A head's unit follows a
/// blank.
doc::Table sizes_table(const CollectiveReport& report) {
  doc::Table table{.key = "sizes",
                   .title = "times by size",
                   .columns = {{.head = "size (B)", .layout = number_column(12)},
                               {.head = "count (elements)", .layout = number_column(12).drops(7)},
                               {.head = "type", .layout = number_column(8).drops(4)},
                               {.head = "redop", .layout = number_column(6).drops(6)},
                               {.head = "root", .layout = number_column(6).drops(5)},
                               {.head = "time (us)", .layout = number_column(7)},
                               {.head = "algbw (GB/s)", .layout = number_column(6)},
                               {.head = "busbw (GB/s)", .layout = number_column(6)},
                               {.head = "bound (us)", .layout = number_column(7).drops(2)},
                               {.head = "share (%)", .layout = number_column(6).drops(3)},
                               {.head = "formula (us)", .layout = number_column(7).drops(1)},
                               {.head = "algorithm /protocol/channels"},
                               {.head = has_groups(report) ? "group" : ""}},
                   .shape = {.indent = 0, .gap = 2, .elsewhere = "--json"}};
  if (!has_groups(report)) table.columns.back().shown = doc::Shown::text;
  constexpr double giga = 1e9;
  const auto microseconds = [](Seconds time) { return doc::Value(seven_columns(time.si() * 1e6), time); };
  const auto rate = [](Bandwidth value) {
    return doc::Value(fmt::format("{:.2f}", value.si() / giga), value);
  };
  for (const CollectiveTiming& row : report.rows)
    table.rows.push_back(
        {.cells = {doc::Value(fmt::format("{:.0f}", row.size.si()), row.size), std::to_string(row.elements),
                   "float", reduces(report.operation) ? "sum" : "none",
                   std::to_string(has_root(report.operation) ? report.root : -1), microseconds(row.time),
                   rate(row.algbw), rate(row.busbw), microseconds(row.bound),
                   doc::Value(fmt::format("{:.1f}", 100 * bound_share(row)), bound_share(row)),
                   microseconds(row.closed_form), way_of(row),
                   has_groups(report) ? std::to_string(row.group) : std::string()}});
  return table;
}

/// A figure of each size, and the same at the bound.
struct SizeFigure {
  std::string title;
  std::function<double(const CollectiveTiming&)> value, bound;
};

/// Curves of the groups, across protocols and algorithms, which have different marks.
doc::Chart size_chart(const CollectiveReport& report, const SizeFigure& of) {
  constexpr std::size_t kinds = 8;
  constexpr int shapes = 4;
  doc::Chart chart{
      .key = "sizes", .title = of.title + " by size", .across_title = "size, bytes", .up_title = of.title};
  const auto series = [&](const std::string& kind, const std::string& name, int mark) -> doc::Chart::Series& {
    const auto known = std::ranges::find_if(
        chart.series, [&](const doc::Chart::Series& one) { return one.kind == kind && one.name == name; });
    if (known != chart.series.end()) return *known;
    return chart.series.emplace_back(doc::Chart::Series{kind, name, {}, mark < 0, mark});
  };
  std::vector<std::string> ways;
  for (const CollectiveTiming& row : report.rows) {
    if (row.size.si() <= 0 || row.time.si() <= 0 || row.bound.si() <= 0) continue;
    const std::string way = fmt::format("{}/{}", row.algorithm, row.protocol);
    if (std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
    const auto mark = static_cast<int>(std::ranges::find(ways, way) - ways.begin());
    const std::string kind = fmt::format("series{}", static_cast<std::size_t>(row.group) % kinds);
    const std::string group = has_groups(report) ? fmt::format("group {}", row.group) : "predicted";
    const PlotPoint point{row.size.si(), of.value(row),
                          fmt::format("{:.0f} B: {} us, {:.2f} GB/s, {}", row.size.si(),
                                      seven_columns(row.time.si() * 1e6), row.busbw.si() / 1e9, way_of(row))};
    series(kind, group, -1).points.push_back(point);
    series(kind, has_groups(report) ? fmt::format("{}, {}", group, way) : way, mark % shapes)
        .points.push_back(point);
    series("ideal", has_groups(report) ? group + ", bound" : "bound", -1)
        .points.push_back({row.size.si(), of.bound(row), {}});
  }
  if (numbers_across(chart).size() < 6) return {};  // a single size
  chart.across = decades_axis(numbers_across(chart), FluidPlot::across_begin, FluidPlot::across_length, 8,
                              [](double size) { return human(Bytes(size)); });
  chart.up = decades_axis(numbers_upwards(chart), FluidPlot::up_begin, FluidPlot::up_length, 8, rounded_tick);
  return chart;
}

void add_charts(doc::Section& section, const CollectiveReport& report) {
  constexpr double micro = 1e6;
  constexpr double giga = 1e9;
  const SizeFigure figures[] = {
      {"bus bandwidth, GB/s", [](const CollectiveTiming& row) { return row.busbw.si() / giga; },
       [](const CollectiveTiming& row) { return row.busbw.si() / giga / bound_share(row); }},
      {"time, us", [](const CollectiveTiming& row) { return row.time.si() * micro; },
       [](const CollectiveTiming& row) { return row.bound.si() * micro; }}};
  for (const SizeFigure& figure : figures)
    if (doc::Chart chart = size_chart(report, figure); !chart.series.empty()) section.add(std::move(chart));
}

nlohmann::ordered_json expected_json(const CollectiveError& error) {
  const PublishedCurve& nearest = error.nearest;
  return {{"low", error.low},
          {"high", error.high},
          {"curves", error.curves},
          {"fitted", error.fitted},
          {"nearest",
           {{"row", nearest.place},
            {"platform", nearest.of.platform},
            {"operation", nearest.of.operation},
            {"gpus", nearest.of.gpus},
            {"nodes", nearest.of.nodes}}}};
}

nlohmann::ordered_json expected_json(const CollectiveReport& report) {
  nlohmann::ordered_json json{
      {"share", expected_share}, {"from_1_mib", nullptr}, {"below_1_mib", nullptr}, {"reason", nullptr}};
  if (!report.expected_error) {
    json["reason"] = report.expected_error.error();
    return json;
  }
  if (const auto& large = report.expected_error->large) json["from_1_mib"] = expected_json(*large);
  if (const auto& small = report.expected_error->small) json["below_1_mib"] = expected_json(*small);
  return json;
}

}  // namespace

doc::Document collective_document(const CollectiveReport& report) {
  doc::Document page{.title = fmt::format("{} on {}", config::name_of(report.operation), report.platform),
                     .version = version()};
  doc::Section& section = page.section("sizes", "times by size");
  add_head(section, report);
  add_charts(section, report);
  section.add(sizes_table(report));
  if (const LinkRow* most = busiest(report.links))
    section.fact("Busiest link",
                 fmt::format("{}, busy for {:.1f} % of the time, over all sizes{}", most->name,
                             100 * most->utilization, most->is_assumed ? "; its rate is assumed" : ""));
  section.fact("Avg bus bandwidth", fmt::format("{:.2f}", report.average_busbw_gbs));
  return page;
}

namespace {

/// Every line that is no row of sizes is a comment: tools of nccl-tests take others for rows.
struct NcclTestsWriter {
  std::string& text;
  std::size_t width;

  void operator()(const doc::Sentence& part) const { text += comment(part.text, width); }

  void operator()(const doc::Table& part) const {
    std::vector<TableColumn> layout;
    std::vector<std::string> heads, units;
    for (const doc::Column& column : part.columns) {
      const std::size_t blank = std::min(column.head.find(' '), column.head.size());
      layout.push_back(column.layout);
      heads.push_back(column.head.substr(0, blank));
      units.push_back(column.head.substr(std::min(blank + 1, column.head.size())));
    }
    for (std::vector<std::string>* const one : {&heads, &units})
      one->front() = fmt::format("# {:>10}", one->front());
    Table table(std::move(layout), part.shape);
    table.add(std::move(heads));
    table.add(std::move(units));
    for (const doc::Row& row : part.rows) {
      std::vector<std::string> cells;
      for (const doc::Cell& cell : row.cells) cells.push_back(cell.value.text);
      table.add(std::move(cells));
    }
    const std::vector<std::string> lines = table.lines(width);
    const auto note =
        std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("left out:"); });
    text += fmt::format("#\n{}\n", fmt::join(lines.begin(), note, "\n"));
    text += comment(fmt::format("{}", fmt::join(note, lines.end(), " ")), width);
  }

  void operator()(const doc::Fact& part) const {
    std::string lines = hanging(fmt::format("# {:<21}: ", part.label), part.remark, width);
    for (std::size_t at = 0; (at = lines.find("\n ", at)) != std::string::npos; ++at) lines[at + 1] = '#';
    text += lines;
  }

  template <class Part>
  void operator()(const Part&) const {}
};

}  // namespace

std::string nccl_tests_text(const doc::Document& page, const PrintStyle& style) {
  std::string text;
  for (const doc::Section& section : page.sections)
    for (const doc::Part& part : section.parts) std::visit(NcclTestsWriter{text, style.width}, part);
  return text;
}

nlohmann::ordered_json collective_json(const CollectiveReport& report) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const CollectiveGroup& group : report.groups) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const Rank rank : group.ranks) ranks.push_back(index(rank));
    groups.push_back({{"start_s", group.start.si()}, {"ranks", std::move(ranks)}});
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollectiveTiming& row : report.rows) {
    rows.push_back({{"size_bytes", row.size.si()},
                    {"elements", row.elements},
                    {"group", row.group},
                    {"algorithm", row.algorithm},
                    {"protocol", row.protocol},
                    {"channels", row.channels},
                    {"time_s", row.time.si()},
                    {"algbw_bytes_per_s", row.algbw.si()},
                    {"busbw_bytes_per_s", row.busbw.si()},
                    {"bound_s", row.bound.si()},
                    {"bound_share", bound_share(row)},
                    {"closed_form_s", row.closed_form.si()}});
  }
  nlohmann::ordered_json switches = nlohmann::ordered_json::array();
  for (const CollectiveSwitch& change : report.switches) {
    switches.push_back({{"group", change.group},
                        {"size_below_bytes", change.below.si()},
                        {"size_above_bytes", change.above.si()},
                        {"from", change.from},
                        {"to", change.to}});
  }
  nlohmann::ordered_json json{{"schema_version", 2},
                              {"trainyard_version", version()},
                              {"operation", config::name_of(report.operation)},
                              {"platform", report.platform},
                              {"changed_keys", report.changed},
                              {"ranks", report.ranks},
                              {"nodes", report.nodes},
                              {"root", nullptr},
                              {"groups", std::move(groups)},
                              {"notes", report.notes},
                              {"switches", std::move(switches)},
                              {"expected_error", expected_json(report)},
                              {"average_busbw_bytes_per_s", report.average_busbw_gbs * 1e9},
                              {"busiest_link", nullptr},
                              {"link_utilization_max", nullptr},
                              {"busiest_link_is_assumed", nullptr},
                              {"rows", std::move(rows)}};
  if (has_root(report.operation)) json["root"] = report.root;
  if (const LinkRow* most = busiest(report.links)) {
    json["busiest_link"] = most->name;
    json["link_utilization_max"] = most->utilization;
    json["busiest_link_is_assumed"] = most->is_assumed;
  }
  return json;
}

}  // namespace trainyard
