#pragma once
// Tables of other publications, whose columns are their own: a form says how the cells of a line become rows
// in the columns of workloads/published. workloads/published/forms.yaml has the shipped ones.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "workload/csv.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// A row that every line which matches becomes.
struct FormRow {
  /// Columns of the table and texts, as in rules: the cell must contain one of them, and none after a '!'.
  std::map<std::string, std::vector<std::string>> when;
  /// Columns of workloads/published and their text: {COLUMN} stands for the line's cell, {COLUMN|TEXT} for
  /// TEXT if that is empty or missing, {#KEY} for the value of a comment "# KEY: value" of the table.
  std::map<std::string, std::string> cells;
};

struct TableForm {
  std::string title;
  std::vector<std::string> columns;  ///< a table with all of these has the form
  /// By column: other words for its cells, in place of them.
  std::map<std::string, std::map<std::string, std::string>> words;
  std::vector<FormRow> rows;
};

struct TableForms {
  std::string name;
  std::string title;
  std::vector<TableForm> forms;  ///< the first that a table has counts
};

/// Throws InputError with all errors, including columns in `cells` that published rows do not have.
TableForms load_table_forms(const config::Document& document);

/// The shipped forms; none if they are not installed. Throws InputError and FileError.
TableForms shipped_table_forms(const config::Catalogue& catalogue);

/// The table in the columns of workloads/published: one for each row of its form, with the lines that match;
/// they keep their numbers, and cells that begin with a line's cell its place. The table itself if it has no
/// form.
std::vector<CsvFile> in_published_columns(CsvFile table, const TableForms& forms);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<FormRow> {
  static auto table() {
    return keys(
        optional(
            "when", &FormRow::when,
            "columns of the table and texts, one of which the cell must contain; a text after '!' must not "
            "occur in it"),
        required("cells", &FormRow::cells,
                 "columns of workloads/published and their text, in which {COLUMN} stands for a cell"));
  }
};

template <>
struct Keys<TableForm> {
  static auto table() {
    return keys(required("title", &TableForm::title, "one line for people"),
                required("columns", &TableForm::columns, "columns by which a table is recognised"),
                optional("words", &TableForm::words, "by column: other words for its cells"),
                required("rows", &TableForm::rows, "rows that a line becomes"));
  }
};

template <>
struct Keys<TableForms> {
  static auto table() {
    return keys(required("name", &TableForms::name, "the file's name without .yaml"),
                optional("title", &TableForms::title, "one line for people"),
                required("forms", &TableForms::forms, "the first form that a table has counts"));
  }
};

}  // namespace trainyard::config
