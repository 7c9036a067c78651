// A document as JSON.

#include "document/parts.hpp"
#include "document/writers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace trainyard::doc {
namespace {

using Json = nlohmann::ordered_json;

/// "expected_error" of "expected error".
std::string key_of(const std::string& key, std::string label) {
  if (!key.empty()) return key;
  std::ranges::replace(label, ' ', '_');
  return label;
}

Json value_json(const Value& value) {
  if (value.number) return {{"text", value.text}, {"number", *value.number}};
  return value.text;
}

struct JsonWriter {
  Json operator()(const Sentence& part) const { return {{"kind", "sentence"}, {"text", part.text}}; }

  Json operator()(const Fact& part) const {
    return {{"kind", "fact"},
            {"key", key_of(part.key, part.label)},
            {"label", part.label},
            {"value", value_json(part.value)},
            {"remark", part.remark}};
  }

  Json operator()(const Share& part) const {
    return {{"kind", "share"},     {"label", part.label}, {"text", part.text},
            {"number", part.part}, {"whole", part.whole}, {"meaning", part.meaning}};
  }

  Json operator()(const List& part) const {
    Json items = Json::array();
    for (const Labelled& item : part.items) items.push_back({{"label", item.label}, {"text", item.text}});
    return {{"kind", "list"}, {"items", std::move(items)}};
  }

  Json operator()(const Heading& part) const {
    return {{"kind", "heading"}, {"title", part.title}, {"remark", part.remark}};
  }

  Json operator()(const Table& part) const {
    Json columns = Json::array();
    for (const Column& column : part.columns) columns.push_back(key_of(column.key, column.head));
    Json rows = Json::array();
    for (const Row& row : part.rows) {
      if (row.is_rule) continue;
      Json& cells = rows.emplace_back(Json{{"depth", row.depth}, {"cells", Json::array()}})["cells"];
      for (const Cell& cell : row.cells)
        cells.push_back(cell.code.empty() ? value_json(cell.value) : Json(cell.code));
      if (!row.rest.empty()) cells.push_back(row.rest);
    }
    return {{"kind", "table"},
            {"key", part.key},
            {"title", part.title},
            {"columns", std::move(columns)},
            {"rows", std::move(rows)}};
  }

  Json operator()(const Bars& part) const {
    Json bars = Json::array();
    for (const Bars::Bar& bar : part.bars) {
      Json parts = Json::array();
      for (const BarPart& one : bar.parts)
        parts.push_back({{"name", one.name}, {"share", one.share}, {"text", one.value}});
      bars.push_back({{"label", bar.label}, {"parts", std::move(parts)}});
    }
    return {{"kind", "bars"}, {"key", part.key}, {"title", part.title}, {"bars", std::move(bars)}};
  }

  Json operator()(const Chart& part) const {
    Json series = Json::array();
    for (const Chart::Series& one : part.series) {
      Json points = Json::array();
      for (const PlotPoint& point : one.points) points.push_back({point.x, point.y});
      series.push_back({{"name", one.name}, {"points", std::move(points)}});
    }
    Json rules = Json::array();
    for (const Chart::Rule& one : part.rules)
      rules.push_back({{"text", one.text}, {one.is_upright ? "x" : "y", one.at}});
    Json columns = Json::array();
    for (const Chart::Column& one : part.columns)
      columns.push_back({{"from", one.from}, {"to", one.to}, {"height", one.height}});
    return {{"kind", "chart"},           {"key", part.key},
            {"title", part.title},       {"x", part.across_title},
            {"y", part.up_title},        {"series", std::move(series)},
            {"rules", std::move(rules)}, {"columns", std::move(columns)}};
  }

  Json operator()(const Points& part) const {
    Json keys = Json::array();
    for (const Points::Key& one : part.keys)
      keys.push_back(
          {{"name", one.name}, {"is_scale", one.is_scale}, {"values", one.values}, {"of", one.of}});
    Json figures = Json::array();
    for (const Points::Figure& one : part.figures) {
      Json values = Json::array();
      for (const std::optional<double>& value : one.values) values.push_back(value ? Json(*value) : Json());
      figures.push_back(
          {{"name", one.name}, {"label", one.label}, {"unit", one.unit}, {"values", std::move(values)}});
    }
    return {{"kind", "points"}, {"keys", std::move(keys)}, {"figures", std::move(figures)},
            {"all", part.all},  {"columns", part.columns}, {"x", part.x},
            {"y", part.y},      {"colour", part.colour}};
  }

  Json operator()(const Lanes& part) const {
    Json json = lanes_json(part);
    json["kind"] = "lanes";
    return json;
  }

  Json operator()(const Letters& part) const {
    constexpr int width = 76;
    Json lines = Json::array();
    for (const Letters::Line& line : part.lines)
      if (line.letters) lines.push_back({{"label", line.label}, {"text", line.letters(width)}});
    return {{"kind", "letters"}, {"key", part.key}, {"lines", std::move(lines)}, {"end", part.end}};
  }

  Json operator()(const Drawing& part) const { return {{"kind", "drawing"}, {"key", part.key}}; }
  Json operator()(const Command& part) const { return {{"kind", "command"}, {"text", part.text}}; }

  Json operator()(const Listing& part) const {
    return {{"kind", "listing"}, {"key", part.key}, {"text", part.text}};
  }
};

}  // namespace

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const Row& row : table.rows) {
    if (row.is_rule) continue;
    Json& object = rows.emplace_back(Json::object());
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const Column& column = table.columns[i];
      if (column.key.empty() && column.head.empty()) continue;
      const Value& value = row.cells[i].value;
      object[key_of(column.key, column.head)] = value.number              ? Json(*value.number)
                                                : column.layout.is_number ? Json()
                                                                          : Json(value.text);
    }
  }
  return rows;
}

Json json(const Part& part) { return std::visit(JsonWriter{}, part); }

Json json(const Document& document) {
  Json sections = Json::array();
  for (const Section& section : document.sections) {
    Json parts = Json::array();
    for (const Part& part : section.parts) {
      const Listing* const listing = std::get_if<Listing>(&part);
      if (listing == nullptr || !listing->text.empty()) parts.push_back(json(part));
    }
    sections.push_back({{"key", section.key},
                        {"title", section.title},
                        {"remark", section.remark},
                        {"parts", std::move(parts)}});
  }
  return {
      {"title", document.title}, {"trainyard_version", document.version}, {"sections", std::move(sections)}};
}

}  // namespace trainyard::doc
