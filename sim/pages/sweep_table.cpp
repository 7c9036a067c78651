#include "pages/sweep_table.hpp"

#include "document/writers.hpp"
#include "report/sweep_words.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

enum class Keys { in_columns, in_one_column };

doc::Table table_of(const SweepResult& result, const std::vector<const SweepRow*>& rows,
                    const SweepColumns& shown, Keys keys, Reasons& reasons) {
  constexpr std::size_t least_point = 24;
  constexpr std::size_t least_key = 8;
  const Sweep& sweep = result.sweep;
  doc::Table table{
      .key = "points", .title = "points", .shape = {.indent = 2, .gap = 2, .elsewhere = elsewhere}};
  if (keys == Keys::in_one_column)
    table.columns.push_back({.head = "point", .layout = text_column().wraps(least_point)});
  else
    for (const std::string& key : sweep.keys)
      table.columns.push_back({.key = key, .head = key, .layout = number_column().wraps(least_key)});
  const std::vector<doc::Column> figures = shown.columns();
  table.columns.insert(table.columns.end(), figures.begin(), figures.end());
  for (const SweepRow* const row : rows) {
    const PointValues& values = sweep.points[row->point];
    doc::Row& line = table.rows.emplace_back();
    if (keys == Keys::in_one_column)
      line.cells.emplace_back(point_in_a_cell(sweep, values));
    else
      line.cells.assign(values.begin(), values.end());
    if (row->status != PointStatus::done)
      line.rest = fmt::format("{} [{}]", name_of(row->status), reasons.number_of(row->reason));
    else
      for (std::size_t i = 0; i < figures.size(); ++i) line.cells.emplace_back(shown.value(*row, i));
  }
  return table;
}

}  // namespace

std::size_t Reasons::number_of(const std::string& reason) {
  auto known = std::ranges::find(reasons_, reason, &Reason::text);
  if (known == reasons_.end()) known = reasons_.insert(known, {reason, 0});
  ++known->points;
  return static_cast<std::size_t>(known - reasons_.begin()) + 1;
}

doc::List Reasons::list(bool has_counts) const {
  doc::List list{.kind = doc::List::Kind::notes};
  for (const Reason& one : reasons_) {
    const std::string points = count(static_cast<std::int64_t>(one.points), "point");
    list.items.push_back({fmt::format("[{}]", list.items.size() + 1),
                          has_counts ? fmt::format("{} failed: {}", points, one.text) : one.text});
  }
  return list;
}

doc::Table points_table(const SweepResult& result, const std::vector<const SweepRow*>& rows, Reasons& reasons,
                        std::size_t width) {
  const SweepColumns shown(result);
  const Reasons before = reasons;
  doc::Table table = table_of(result, rows, shown, Keys::in_columns, reasons);
  if (result.sweep.keys.empty() || has_room(table, width)) return table;
  reasons = before;
  return table_of(result, rows, shown, Keys::in_one_column, reasons);
}

doc::Table points_table_of_page(const SweepResult& result, const std::vector<const SweepRow*>& rows,
                                Reasons& reasons) {
  const SweepColumns shown(result, true);
  doc::Table table = table_of(result, rows, shown, Keys::in_columns, reasons);
  for (std::size_t i = 0; i < result.sweep.keys.size(); ++i) table.columns[i].layout = text_column();
  table.columns.insert(table.columns.begin(), doc::Column{.head = "point"});
  table.columns.push_back({.head = "share of the highest samples/s", .layout = number_column()});
  double highest = 1e-300;
  const auto throughput = [&](const SweepRow& row) {
    return figure(result, row, throughput_figure).value_or(0);
  };
  for (const SweepRow& row : result.rows) highest = std::max(highest, throughput(row));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<doc::Cell>& cells = table.rows[i].cells;
    cells.insert(cells.begin(), grouped(static_cast<std::int64_t>(rows[i]->point)));
    if (rows[i]->status != PointStatus::done) continue;
    cells.emplace_back().bar = {{"compute", "", throughput(*rows[i]) / highest, ""}};
  }
  return table;
}

}  // namespace trainyard
