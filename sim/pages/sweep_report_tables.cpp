#include "pages/sweep_report_tables.hpp"

#include "pages/sweep_table.hpp"
#include "report/figure_text.hpp"
#include "report/sweep_words.hpp"
#include "run/figures.hpp"
#include "sweep/scaling.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// A point that was simulated, or one that was left out.
struct ReportPoint {
  const SweepRow* row = nullptr;
  const LeftOutPoint* left_out = nullptr;
};

/// The points of a section with the same values of all keys but rows and columns.
struct Panel {
  std::string title;
  std::map<std::pair<std::size_t, std::size_t>, ReportPoint> points;  ///< by the places of row and column
};

class ReportWriter {
public:
  ReportWriter(const SweepResult& result, const ReportTables& report)
      : result_(result),
        report_(report),
        section_(place_of(report.section)),
        row_(place_of(report.rows)),
        column_(place_of(report.columns)) {
    sort_points();
  }

  void write(doc::Document& page) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      reasons_ = {};
      doc::Section& section = page.section(fmt::format("report{}", i + 1), sections_[i].title);
      section.is_answer = true;
      for (const Panel& panel : sections_[i].panels) add_panel(section, panel);
      if (const doc::List reasons = reasons_.list(false); !reasons.items.empty()) section.add(reasons);
    }
  }

private:
  struct SectionPanels {
    std::size_t place = 0;  ///< of the section's value in the file's list
    std::string title;
    std::vector<Panel> panels;
  };

  [[nodiscard]] std::size_t place_of(const std::string& key) const {
    return static_cast<std::size_t>(std::ranges::find(result_.sweep.keys, key) - result_.sweep.keys.begin());
  }

  [[nodiscard]] const std::string& name_of_value(const std::string& value) const {
    return name_in(report_, value);
  }

  /// "batch_per_gpu=64, precision=amp": all keys but those of sections, rows and columns.
  [[nodiscard]] std::string title_of(const PointValues& values) const {
    std::string title;
    for (std::size_t key = 0; key < values.size(); ++key) {
      if (key == section_ || key == row_ || key == column_ || values[key] == default_value) continue;
      title += fmt::format("{}{}={}", title.empty() ? "" : ", ", result_.sweep.keys[key],
                           name_of_value(values[key]));
    }
    return title;
  }

  [[nodiscard]] std::size_t place_in_list(std::size_t key, const std::string& value) const {
    const std::vector<std::string>& list = result_.sweep.lists[key];
    return static_cast<std::size_t>(std::ranges::find(list, value) - list.begin());
  }

  void add_point(const PointValues& values, ReportPoint point) {
    std::string name = name_of_value(values[section_]);
    auto section = std::ranges::find(sections_, name, &SectionPanels::title);
    if (section == sections_.end())
      section = sections_.insert(section, {place_in_list(section_, values[section_]), std::move(name), {}});
    std::string title = title_of(values);
    auto panel = std::ranges::find(section->panels, title, &Panel::title);
    if (panel == section->panels.end()) panel = section->panels.insert(panel, {std::move(title), {}});
    panel->points[{place_in_list(row_, values[row_]), place_in_list(column_, values[column_])}] = point;
  }

  void sort_points() {
    for (const SweepRow& row : result_.rows) add_point(result_.sweep.points[row.point], {.row = &row});
    for (const LeftOutPoint& point : result_.sweep.left_out) add_point(point.values, {.left_out = &point});
    std::ranges::stable_sort(sections_, {}, &SectionPanels::place);
  }

  /// Rows of numbers of GPUs have the nodes and GPUs of the first point that ran; others have their value.
  [[nodiscard]] bool has_machines() const { return is_scale_key(report_.rows); }

  void add_heads(doc::Table& table) const {
    if (!has_machines()) {
      table.columns.push_back(doc::texts(report_.rows));
      return;
    }
    table.columns.push_back(doc::numbers("nodes"));
    table.columns.push_back(doc::numbers("GPUs"));
  }

  void add_row_heads(doc::Row& line, const Panel& panel, std::size_t row) const {
    if (!has_machines()) {
      line.cells.emplace_back(name_of_value(result_.sweep.lists[row_][row]));
      return;
    }
    for (const char* const name : {"nodes", "ranks"}) {
      std::optional<double> number;
      for (const auto& [place, point] : panel.points)
        if (place.first == row && point.row != nullptr && !number)
          number = figure_if_stored(result_, *point.row, name);
      const bool is_own =
          report_.rows == name || (report_.rows == "gpus" && name == std::string_view("ranks"));
      const std::string& own = result_.sweep.lists[row_][row];  // where no point of the row ran
      line.cells.emplace_back(number ? doc::Value(count_text(*number), *number)
                                     : doc::Value(is_own ? own : "-"));
    }
  }

  [[nodiscard]] doc::Cell reason_cell(const ReportPoint& point) {
    if (point.left_out != nullptr) return fmt::format("- [{}]", reasons_.number_of(point.left_out->reason));
    return fmt::format("{} [{}]", name_of(point.row->status), reasons_.number_of(point.row->reason));
  }

  [[nodiscard]] double largest_of(const Panel& panel, const std::string& name) const {
    double largest = 0;
    for (const auto& [place, point] : panel.points)
      if (point.row != nullptr)
        largest = std::max(largest, figure_if_stored(result_, *point.row, name).value_or(0));
    return largest;
  }

  [[nodiscard]] doc::Cell cell_of(const ReportPoint& point, const std::string& name, double largest) {
    if (point.row == nullptr || point.row->status != PointStatus::done) return reason_cell(point);
    const std::optional<double> number = figure_if_stored(result_, *point.row, name);
    if (!number) return "-";
    const FigureUnit unit = figures()[index_of(name)].unit;
    const std::string text = unit == FigureUnit::samples_per_s ? rounded_like(*number, largest)
                                                               : in_unit_like(*number, largest, unit);
    return doc::Value(text + assumed_mark_of(result_, *point.row, name), *number);
  }

  /// The places of rows and of columns in which some point is not left out, in the file's order.
  [[nodiscard]] static std::set<std::size_t> rows_of(const Panel& panel) {
    std::set<std::size_t> rows;
    for (const auto& [place, point] : panel.points)
      if (point.row != nullptr) rows.insert(place.first);
    return rows;
  }
  [[nodiscard]] static std::set<std::size_t> columns_of(const Panel& panel) {
    std::set<std::size_t> columns;
    for (const auto& [place, point] : panel.points)
      if (point.row != nullptr) columns.insert(place.second);
    return columns;
  }

  /// The columns of which all points are left out, by reason: "Without A, B: C has no kernels.".
  void add_left_out(doc::Section& section, const Panel& panel) const {
    const std::set<std::size_t> shown = columns_of(panel);
    std::map<std::string, std::set<std::size_t>> columns;
    for (const auto& [place, point] : panel.points)
      if (!shown.contains(place.second)) columns[point.left_out->reason].insert(place.second);
    for (const auto& [reason, of_reason] : columns) {
      std::string names;
      for (const std::size_t column : of_reason)
        names += (names.empty() ? "" : ", ") + name_of_value(result_.sweep.lists[column_][column]);
      section.add(doc::Sentence{fmt::format("Without {}: {}.", names, reason)});
    }
  }

  void add_compared(doc::Section& section, const Panel& panel, const std::string& name) {
    const Figure& figure = figures()[index_of(name)];
    const std::string unit = figure.unit == FigureUnit::samples_per_s ? ", samples/s" : "";
    doc::Table table{.key = fmt::format("{}-{}", section.key, name),
                     .title = fmt::format("{}{}", figure.label, unit)};
    add_heads(table);
    const std::set<std::size_t> columns = columns_of(panel);
    for (const std::size_t column : columns)
      table.columns.push_back(doc::numbers(name_of_value(result_.sweep.lists[column_][column])));
    const double largest = largest_of(panel, name);
    for (const std::size_t row : rows_of(panel)) {
      doc::Row& line = table.rows.emplace_back();
      add_row_heads(line, panel, row);
      for (const std::size_t column : columns) {
        const auto point = panel.points.find({row, column});
        line.cells.push_back(point == panel.points.end() ? doc::Cell("")
                                                         : cell_of(point->second, name, largest));
      }
    }
    section.add(doc::Sentence{fmt::format("{}{}", figure.label, unit)});
    section.add(std::move(table));
  }

  void add_all_figures(doc::Section& section, const Panel& panel) {
    doc::Table table{.key = section.key + "-all",
                     .title = "all figures",
                     .columns = {doc::texts(report_.columns)},
                     .folded = fmt::format("all figures of each {}", report_.columns)};
    add_heads(table);
    std::vector<double> largest;
    for (const std::string& name : report_.figures) {
      const bool is_there = largest_of(panel, name) > 0;
      largest.push_back(is_there ? largest_of(panel, name) : -1);
      if (is_there) table.columns.push_back(doc::numbers(std::string(figures()[index_of(name)].label)));
    }
    for (const std::size_t column : columns_of(panel)) {
      for (const std::size_t row : rows_of(panel)) {
        const auto point = panel.points.find({row, column});
        if (point == panel.points.end() || point->second.row == nullptr) continue;
        doc::Row& line = table.rows.emplace_back();
        line.cells.emplace_back(name_of_value(result_.sweep.lists[column_][column]));
        add_row_heads(line, panel, row);
        for (std::size_t i = 0; i < largest.size(); ++i)
          if (largest[i] > 0) line.cells.push_back(cell_of(point->second, report_.figures[i], largest[i]));
      }
    }
    section.add(std::move(table));
  }

  void add_panel(doc::Section& section, const Panel& panel) {
    section.add(doc::Heading{panel.title});
    add_left_out(section, panel);
    for (const std::string& name : report_.compared) add_compared(section, panel, name);
    if (!report_.figures.empty()) add_all_figures(section, panel);
  }

  const SweepResult& result_;
  const ReportTables& report_;
  std::size_t section_, row_, column_;
  std::vector<SectionPanels> sections_;
  Reasons reasons_;
};

}  // namespace

void add_report_tables(doc::Document& page, const SweepResult& result) {
  if (result.sweep.report) ReportWriter(result, *result.sweep.report).write(page);
}

}  // namespace trainyard
