#include "pages/sweep_report_tables.hpp"

#include "../sweep/hand_made.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <variant>
#include <vector>

using namespace trainyard;

namespace {

/// Two models and frameworks on one and four GPUs; "y" cannot run "b", and fails with "a" on four.
SweepResult two_frameworks() {
  SweepResult result = made_result(
      {"model", "stack", "ranks", "precision"},
      {{.values = {"a", "x", "1", "amp"}, .ranks = 1, .throughput = 100},
       {.values = {"a", "x", "4", "amp"}, .ranks = 4, .throughput = 300, .efficiency = 0.75},
       {.values = {"a", "y", "1", "amp"}, .ranks = 1, .throughput = 50},
       {.values = {"a", "y", "4", "amp"}, .status = PointStatus::impossible, .reason = "does not fit"},
       {.values = {"b", "x", "4", "amp"}, .ranks = 4, .throughput = 400},
       {.values = {"b", "y", "1", "amp"}, .ranks = 1, .throughput = 300},
       {.values = {"b", "x", "1", "fp32"}, .ranks = 1, .throughput = 200}});
  result.sweep.lists = {{"a", "b"}, {"x", "y"}, {"1", "4"}, {"amp", "fp32"}};
  result.sweep.left_out = {{{"b", "y", "4", "amp"}, "no such kernel"}, {{"b", "y", "1", "fp32"}, "nor fp32"}};
  result.sweep.report = {.section = "model",
                         .rows = "ranks",
                         .columns = "stack",
                         .figures = {"step_time_s", "memory_utilization"},
                         .names = {{"a", "Model A"}, {"x", "Framework X"}}};
  return result;
}

doc::Document document_of(const SweepResult& result) {
  doc::Document page;
  add_report_tables(page, result);
  return page;
}

std::vector<std::string> cells_of(const doc::Row& row) {
  std::vector<std::string> cells;
  for (const doc::Cell& cell : row.cells) cells.push_back(cell.value.text);
  return cells;
}

std::vector<const doc::Table*> tables_of(const doc::Section& section) {
  std::vector<const doc::Table*> tables;
  for (const doc::Part& part : section.parts)
    if (const auto* const table = std::get_if<doc::Table>(&part)) tables.push_back(table);
  return tables;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a report has a section for each value, with frameworks next to each other and all figures") {
  const SweepResult result = two_frameworks();
  const doc::Document page = document_of(result);
  REQUIRE(page.sections.size() == 2);
  CHECK(page.sections[0].title == "Model A");
  CHECK(page.sections[1].title == "b");
  const std::vector<const doc::Table*> tables = tables_of(page.sections[0]);
  REQUIRE(tables.size() == 3);
  CHECK(tables[0]->columns[2].head == "Framework X");
  CHECK(tables[0]->columns[3].head == "y");
  CHECK(cells_of(tables[0]->rows[0]) == Words{"-", "1", "100", "50"});  // no row knows its nodes
  CHECK(cells_of(tables[0]->rows[1]) == Words{"-", "4", "300", "impossible [1]"});
  CHECK(cells_of(tables[1]->rows[1])[2] == "3.0 x");
  CHECK(tables[2]->columns.back().head == "step time");  // no row knows its memory
  CHECK(tables[2]->rows.size() == 4);
}

TEST_CASE("a point that is left out has its reason below the tables of its section") {
  const SweepResult result = two_frameworks();
  const doc::Section section = document_of(result).sections[1];
  CHECK(cells_of(tables_of(section)[0]->rows[1]) == Words{"-", "4", "400", "- [1]"});
  const auto* const reasons = std::get_if<doc::List>(&section.parts.back());
  REQUIRE(reasons != nullptr);
  CHECK(reasons->items.front().text == "no such kernel");
}

TEST_CASE("a column of which all points are left out is named above the tables with the reason") {
  const SweepResult result = two_frameworks();
  const doc::Section section = document_of(result).sections[1];
  CHECK(cells_of(tables_of(section)[3]->rows[0]) == Words{"-", "1", "200"});
  const auto is_named = [](const doc::Part& part) {
    const auto* const sentence = std::get_if<doc::Sentence>(&part);
    return sentence != nullptr && sentence->text == "Without y: nor fp32.";
  };
  CHECK(std::ranges::count_if(section.parts, is_named) == 1);
}

TEST_CASE("a sweep without a report has no such sections") {
  SweepResult result = two_frameworks();
  result.sweep.report.reset();
  CHECK(document_of(result).sections.empty());
}

TEST_CASE("a row whose points all failed keeps the number that it stands for") {
  SweepResult result = two_frameworks();
  result.rows[1].status = PointStatus::impossible;
  result.rows[1].reason = "does not fit";
  const doc::Document page = document_of(result);
  const std::vector<const doc::Table*> tables = tables_of(page.sections[0]);
  CHECK(cells_of(tables[0]->rows[1]) == Words{"-", "4", "impossible [1]", "impossible [1]"});
  CHECK(cells_of(tables[2]->rows[1]) == Words{"Framework X", "-", "4", "impossible [1]"});
}

TEST_CASE("figures that rest on assumed ones are marked in the tables") {
  SweepResult result = two_frameworks();
  for (const char* const figure : {"gpu_utilization", "assumed_gpu_utilization"})
    result.figures.emplace_back(figure);
  for (SweepRow& row : result.rows)
    if (row.status == PointStatus::done) row.figures.insert(row.figures.end(), {0.9, std::nullopt});
  result.rows[0].figures.back() = 0.9;
  result.sweep.report->compared = {"gpu_utilization"};
  const doc::Document page = document_of(result);
  const std::vector<const doc::Table*> tables = tables_of(page.sections[0]);
  CHECK(cells_of(tables[0]->rows[0]) == Words{"-", "1", "90.0 % (assumed)", "90.0 %"});
}
