#pragma once
// The conditions of a rule about published rows: texts and numbers in their columns, never who published a
// row, so that unknown rows match the same rules.

#include "config/keys.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A size of the model, in a column of its own (published/row_columns.hpp).
enum class SizeColumn { layers, hidden, heads, vocabulary };

/// Conditions on a row; every row matches an empty list.
struct RowPattern {
  std::vector<std::string> gpu, interconnect_intra, interconnect_inter, framework, year, metric, model,
      precision, notes, unit, seq_len, clean, update;
  std::vector<int> gpus_per_node;     ///< any of these; empty: any number
  std::optional<bool> several_nodes;  ///< whether the row has more than one node
  std::vector<SizeColumn> states;     ///< sizes of the model that the row must state
};

/// Suspected cause of large errors of predictions, for curves of collectives and for training runs.
struct OutlierRule {
  RowPattern when;  ///< matched by the run's row, or by the first of the curve
  std::string reason;
  bool always_named = false;  ///< named even if its error is small, because it is known to be unusual. It
                              ///< counts all the same
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<SizeColumn> {
  static constexpr std::string_view what = "size of a model";
  static constexpr std::array table{Name{"layers", SizeColumn::layers, "the column layers"},
                                    Name{"hidden", SizeColumn::hidden, "the column hidden"},
                                    Name{"heads", SizeColumn::heads, "the column heads"},
                                    Name{"vocabulary", SizeColumn::vocabulary, "the column vocab"}};
};

template <>
struct Keys<RowPattern> {
  static auto table() {
    return keys(
        optional("gpu", &RowPattern::gpu,
                 "texts, one of which the column must contain; a text after '!' must not occur in it"),
        optional("interconnect_intra", &RowPattern::interconnect_intra, "the same for this column"),
        optional("interconnect_inter", &RowPattern::interconnect_inter, "the same for this column"),
        optional("framework", &RowPattern::framework, "the same for this column"),
        optional("year", &RowPattern::year, "the same for this column"),
        optional("metric", &RowPattern::metric, "the same for this column"),
        optional("model", &RowPattern::model, "the same for this column"),
        optional("precision", &RowPattern::precision, "the same for this column"),
        optional("notes", &RowPattern::notes, "the same for this column"),
        optional("unit", &RowPattern::unit, "the same for this column"),
        optional("seq_len", &RowPattern::seq_len, "the same for this column"),
        optional("clean", &RowPattern::clean, "the same for this column"),
        optional("update", &RowPattern::update, "the same for this column"),
        optional("gpus_per_node", &RowPattern::gpus_per_node, "any of these numbers")
            .at_least(1)
            .at_most(1e4),
        optional("several_nodes", &RowPattern::several_nodes, "whether there is more than one node"),
        optional("states", &RowPattern::states, "sizes of the model whose columns are not empty"));
  }
};

template <>
struct Keys<OutlierRule> {
  static auto table() {
    return keys(
        required("when", &OutlierRule::when, "conditions on the row, or on the first row of the curve"),
        required("reason", &OutlierRule::reason, "suspected cause of a large error"),
        optional("always_named", &OutlierRule::always_named, "always listed, even if the error is small"));
  }
};

}  // namespace trainyard::config
