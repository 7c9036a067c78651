// A document as a page for a browser.

#include "document/html_page.hpp"
#include "document/parts.hpp"
#include "document/writers.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace trainyard::doc {
namespace {

/// Tables with more rows scroll downwards, too.
constexpr std::size_t most_rows = 20;

Html code_html(const std::vector<std::string>& texts) {
  Html html;
  for (const std::string& text : texts) html += Html{html.markup.empty() ? "" : " "} + element("code", text);
  return html;
}

/// Classes of the style sheet: .cell, its fill, .bound, .chosen.
Html tile_html(const Value& value, const Tile& tile) {
  std::string classes = "cell";
  if (!tile.fill.empty()) classes += " " + tile.fill;
  if (tile.is_striped) classes += " bound";
  if (tile.is_chosen) classes += " chosen";
  const Html content = tile.fill.empty() ? as_text(value.text)
                                         : element("strong", prose(value.text)) +
                                               element("span", tile.above, " class=\"above\"") +
                                               element("small", prose(tile.remark));
  return element("div", content, attribute("class", classes) + attribute("title", tile.tip));
}

Html cell_html(const Cell& cell, bool is_prose) {
  if (cell.tile) return tile_html(cell.value, *cell.tile);
  const Html text = is_prose ? prose(cell.value.text) : as_text(cell.value.text);
  if (cell.bar.size() == 1 && cell.bar.front().name.empty())
    return share_bar(cell.bar.front().kind, cell.bar.front().share) + text;
  if (!cell.bar.empty()) return stacked_bar("parts", cell.bar) + text;
  if (cell.fill.empty()) return cell.code.empty() ? text : text + code_html(cell.code);
  return swatch(cell.fill) + Html{" "} + text;
}

/// A sample for a legend: tiles are coloured as a background, parts of bars as a fill.
Html sample_of(const std::string& fill) {
  const bool is_tile = fill.starts_with("heat") || fill.starts_with("cell");
  return is_tile ? Html{fmt::format("<span class=\"swatch {}\"></span>", fill)} : swatch(fill);
}

Html table_html(const Table& part) {
  std::vector<HtmlColumn> columns;
  for (const Column& column : part.columns) {
    const bool is_title = part.is_heading && columns.empty();
    if (is_on_pages(column.shown))
      columns.push_back({is_title ? std::string() : column.head, !column.layout.is_number});
  }
  HtmlTable table(part.title, std::move(columns));
  for (const Row& row : part.rows) {
    if (!is_on_pages(row.shown) || row.is_rule) continue;
    std::vector<Html> cells;
    for (std::size_t i = 0; i < part.columns.size() && (i < row.cells.size() || row.rest.empty()); ++i) {
      if (!is_on_pages(part.columns[i].shown)) continue;
      Html cell = i < row.cells.size()
                      ? cell_html(row.cells[i], !cells.empty() && !part.columns[i].layout.is_number)
                      : Html{};
      if (cells.empty())
        for (int depth = 0; depth < row.depth; ++depth) cell.markup.insert(0, "\u2003");
      cells.push_back(std::move(cell));
    }
    if (!row.rest.empty()) cells.push_back(prose(row.rest));
    table.row(cells);
  }
  const bool is_map = std::ranges::any_of(part.rows, [](const Row& row) {
    return std::ranges::any_of(row.cells, [](const Cell& cell) { return cell.tile.has_value(); });
  });
  const Html html = table.html(table.rows() > most_rows, is_map ? " data-role=\"map\"" : "");
  if (!part.folded.empty()) return folded(part.folded, html);
  std::vector<LegendEntry> entries;
  for (const auto& [fill, meaning] : part.legend) entries.push_back({sample_of(fill), meaning});
  return entries.empty() ? html : html + legend(entries);
}

/// Facts that follow each other as lines of a label, a value and a remark.
Html facts_html(const std::vector<const Fact*>& facts) {
  const bool has_values =
      std::ranges::any_of(facts, [](const Fact* one) { return !one->value.text.empty(); });
  std::vector<HtmlColumn> columns{{"", true}, {"", true}};
  if (has_values) columns.push_back({"", true});
  HtmlTable table("facts", std::move(columns));
  for (const Fact* const fact : facts) {
    std::vector<Html> cells{as_text(fact->label)};
    if (!fact->value.text.empty()) {
      const Html value = prose(fact->value.text);
      cells.push_back(fact->is_main ? element("strong", value) : value);
    }
    if (!fact->remark.empty() || cells.size() == 1) cells.push_back(prose(fact->remark));
    table.row(cells);
  }
  return table.html(false, " data-role=\"facts\"");
}

/// Shares that follow each other as a bar, and a line each.
Html shares_html(const std::vector<const Share*>& shares, const std::string& title) {
  const bool has_meaning =
      std::ranges::any_of(shares, [](const Share* one) { return !one->meaning.empty(); });
  std::vector<HtmlColumn> columns{{"part", true}, {"time"}, {"share"}};
  if (has_meaning) columns.push_back({"meaning", true});
  HtmlTable table(title, std::move(columns));
  std::vector<BarPart> bar;
  for (const Share* const one : shares) {
    const double share = one->whole > 0 ? one->part / one->whole : 0;
    bar.push_back({one->fill, one->label, share, fmt::format("{}, {}", one->text, percent(share))});
    std::vector<Html> cells{swatch(one->fill) + as_text(" " + one->label), as_text(one->text),
                            as_text(percent(share))};
    if (has_meaning) cells.push_back(prose(one->meaning));
    table.row(cells);
  }
  return stacked_bar(title, bar) + table.html();
}

Html bars_html(const Bars& part) {
  Html html;
  std::vector<LegendEntry> entries;
  for (const Bars::Bar& bar : part.bars) {
    const Html label = bar.label.empty() ? Html{} : element("span", prose(bar.label));
    const std::string name = bar.label.empty() ? part.title : part.title + ", " + bar.label;
    html += element("div", label + stacked_bar(name, bar.parts), " class=\"bar\"") + Html{"\n"};
    for (const BarPart& one : bar.parts)
      if (std::ranges::find(entries, one.name, &LegendEntry::text) == entries.end())
        entries.push_back({swatch(one.kind), one.name});
  }
  return part.has_legend ? html + legend(entries) : html;
}

/// The picture of a chart; what its signs mean is added to `entries`, each once.
Html chart_html(const Chart& part, std::vector<LegendEntry>& entries) {
  const auto explain = [&](Html sign, const std::string& text) {
    if (!text.empty() && std::ranges::find(entries, text, &LegendEntry::text) == entries.end())
      entries.push_back({std::move(sign), text});
  };
  FluidPlot plot(part.title, part.across, part.across_title, part.up, part.up_title);
  for (const Chart::Series& one : part.series) {
    if (one.is_line) plot.line(one.kind, one.points);
    if (one.mark >= 0) plot.marks(one.kind, one.mark, one.points);
    const Html sign = one.mark < 0  ? swatch_line(one.kind)
                      : one.is_line ? series_sign(one.kind, one.mark)
                                    : mark_sign(one.kind, one.mark);
    explain(sign, one.name);
  }
  for (const Chart::Column& one : part.columns) plot.column(one.kind, one.from, one.to, one.height, one.text);
  for (const Chart::Rule& one : part.rules) {
    if (one.is_upright)
      plot.upright(one.kind, one.at, one.text);
    else
      plot.level(one.kind, one.at);
    explain(swatch_line(one.kind), one.text);
  }
  return plot.html();
}

/// Charts that follow each other stand side by side above one legend.
Html charts_html(const std::vector<const Chart*>& charts) {
  Html html;
  std::vector<LegendEntry> entries;
  for (const Chart* const chart : charts) html += chart_html(*chart, entries);
  if (charts.size() > 1) html = element("div", html, " class=\"plots\"") + Html{"\n"};
  return html + (entries.size() > 1 ? legend(entries) : Html{});
}

/// The controls, which the script (points.js) shows and fills, and the place of its chart.
Html points_html() {
  const auto choice = [](const char* id, const char* label) {
    return element("label", as_text(label) + element("select", Html{}, attribute("id", id)));
  };
  const auto controls = [](const Html& content, const char* attributes) {
    return element("div", content, std::string(" class=\"controls\"") + attributes) + Html{"\n"};
  };
  return element("div",
                 controls(choice("points-x", "across ") + choice("points-y", "up ") +
                              choice("points-colour", "colour "),
                          "") +
                     controls({}, " id=\"points-filters\"") +
                     element("p", element("output", Html{}, " id=\"points-shown\""), " class=\"hint\"") +
                     element("div", Html{}, " id=\"points-plot\""),
                 " id=\"points-view\" hidden=\"hidden\"") +
         Html{"\n"} +
         element("noscript",
                 paragraph("Axes, colours and filters of this chart need JavaScript. The table and the "
                           "charts below do not."));
}

/// Writes the parts of a page; parts of one kind that follow each other are one element.
class HtmlWriter {
public:
  Html section(const Section& section) {
    const std::vector<const Part*> parts = parts_of_page(section);
    Html html;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (std::holds_alternative<Fact>(*parts[i]))
        html += facts_html(same_parts<Fact>(parts, i));
      else if (std::holds_alternative<Share>(*parts[i]))
        html += shares_html(same_parts<Share>(parts, i), section.title);
      else if (std::holds_alternative<Chart>(*parts[i]))
        html += charts_html(same_parts<Chart>(parts, i));
      else
        html += std::visit(*this, *parts[i]);
    }
    return html;
  }

  Html operator()(const Sentence& part) const {
    return part.is_main ? element("p", prose(part.text), " class=\"verdict\"") + Html{"\n"}
                        : paragraph(part.text);
  }

  Html operator()(const Fact& part) const { return facts_html({&part}); }

  Html operator()(const Share& part) const { return shares_html({&part}, part.label); }

  Html operator()(const List& part) const {
    Html items;
    for (const Labelled& item : part.items) {
      Html label;
      if (part.kind == List::Kind::notes)
        label = as_text(item.label + " ");
      else if (!item.label.empty() && part.kind == List::Kind::plain)
        label = element("strong", item.label) + Html{": "};
      items += element("li", label + prose(item.text)) + Html{"\n"};
    }
    const bool has_signs = part.kind == List::Kind::plain || part.kind == List::Kind::ordered;
    return element(part.kind == List::Kind::ordered ? "ol" : "ul", Html{"\n"} + items,
                   has_signs ? "" : " class=\"notes\"") +
           Html{"\n"};
  }

  Html operator()(const Heading& part) const {
    return subheading(capitalised(part.title)) + (part.remark.empty() ? Html{} : paragraph(part.remark));
  }

  Html operator()(const Table& part) const { return table_html(part); }
  Html operator()(const Bars& part) const { return bars_html(part); }
  Html operator()(const Chart& part) const { return charts_html({&part}); }

  Html operator()(const Points& part) {
    points_ = json(Part(part)).dump();
    return points_html();
  }

  Html operator()(const Lanes& part) const { return lanes_html(part); }
  Html operator()(const Letters&) const { return {}; }
  Html operator()(const Drawing& part) const { return part.html; }
  Html operator()(const Command& part) { return copyable(part.text, " class=\"command\""); }
  Html operator()(const Listing& part) { return copyable(part.text, ""); }

  /// Of the page, for the script; empty without any.
  [[nodiscard]] const std::string& points() const { return points_; }

private:
  Html copyable(const std::string& text, std::string_view attributes) {
    const std::string id = fmt::format("text{}", ++copyable_);
    return element("button", "Copy",
                   " type=\"button\" class=\"copy\" hidden=\"hidden\"" + attribute("data-copies", id)) +
           Html{"\n"} +
           element("pre", text, attribute("id", id) + std::string(attributes) + " tabindex=\"0\"") +
           Html{"\n"};
  }

  int copyable_ = 0;
  std::string points_;
};

}  // namespace

Html content_html(const Section& section) { return HtmlWriter().section(section); }

std::string html(const Document& document) {
  const auto in_words = [&](const std::string& text) {
    return document.in_words ? document.in_words(text) : text;
  };
  HtmlPage page{.title = in_words(document.title), .lead = {}, .sections = {}, .version = document.version};
  for (const std::string& text : document.lead) page.lead += paragraph(in_words(text));
  for (const std::string& warning : document.warnings)
    page.lead += element("pre", warning, " class=\"warning\"") + Html{"\n"};
  HtmlWriter writer;
  for (const Section* const section : sections_of_page(document)) {
    const Html remark = section->remark.empty() ? Html{} : paragraph(section->remark);
    const Html content = remark + writer.section(*section);
    page.sections.push_back({.id = section->key,
                             .title = in_words(capitalised(section->title)),
                             .content = section->has_own_words ? content : Html{in_words(content.markup)}});
  }
  page.points = writer.points();
  return html_text(page);
}

}  // namespace trainyard::doc
