#pragma once
// Tables of other publications, whose columns are their own: a form says how the cells of a line become rows
// in the columns of workloads/published. workloads/published/forms.yaml has the shipped ones.

#include "config/catalogue.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "workload/csv.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A row that every line which matches becomes.
struct FormRow {
  /// Columns of the table and texts, as in rules: the cell must contain one of them, and none after a '!'.
  /// "<=72" and ">72": the cell must be such a number.
  std::map<std::string, std::vector<std::string>> when;
  /// Columns of workloads/published and their text: {COLUMN} stands for the line's cell, {COLUMN|TEXT} for
  /// TEXT if that is empty or missing, {#KEY} for the value of a comment "# KEY: value" of the table.
  std::map<std::string, std::string> cells;
  /// Other figures of the same run: each is a row with the same cells but these. A line that does not state
  /// the figure (an empty `value`) has none.
  std::vector<std::map<std::string, std::string>> also = {};
};

struct TableForm {
  std::string title;
  std::vector<std::string> columns;  ///< a table with all of these has the form
  /// By column: other words for its cells, in place of them.
  std::map<std::string, std::map<std::string, std::string>> words;
  /// By column: all words that its cells may have. A line with another word is left out.
  std::map<std::string, std::vector<std::string>> known;
  std::vector<std::string> counts;  ///< columns of whole numbers of at least 1
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

/// A table in the columns of workloads/published.
struct FormedTable {
  CsvFile file;
  /// For each row, the word that the form does not know, without the file's name; empty without a form.
  std::vector<std::optional<Diagnostic>> unknown = {};
};

/// One table for each row of the form that `table` has, and for each of its other figures, with the lines
/// that match; they keep their numbers, and cells that begin with a line's cell its place. The table itself
/// if it has no form. Reports cells of the form's `counts` that are no such numbers; empty cells say nothing
/// and are right everywhere.
std::vector<FormedTable> in_published_columns(CsvFile table, const TableForms& forms, CsvProblems& problems);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<FormRow> {
  static auto table() {
    return keys(
        optional(
            "when", &FormRow::when,
            "columns of the table and texts, one of which the cell must contain; a text after '!' must not "
            "occur in it; '<=72' and '>72' compare numbers"),
        required("cells", &FormRow::cells,
                 "columns of workloads/published and their text, in which {COLUMN} stands for a cell"),
        optional(
            "also", &FormRow::also,
            "other figures that a line states, each with the cells that differ; none if 'value' is empty"));
  }
};

template <>
struct Keys<TableForm> {
  static auto table() {
    return keys(required("title", &TableForm::title, "one line for people"),
                required("columns", &TableForm::columns, "columns by which a table is recognised"),
                optional("words", &TableForm::words, "by column: other words for its cells"),
                optional("known", &TableForm::known,
                         "by column: all words that its cells may have; other lines are left out"),
                optional("counts", &TableForm::counts, "columns of whole numbers of at least 1"),
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
