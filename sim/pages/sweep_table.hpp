#pragma once
// The points of a sweep as a table, and the reasons of those that failed.

#include "document/document.hpp"
#include "sweep/sweep_result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Reasons in the order of their first use, each with its number, counted from 1.
class Reasons {
public:
  std::size_t number_of(const std::string& reason);
  /// "[1] ..."; `has_counts`: "[1] 3 points failed: ...".
  [[nodiscard]] doc::List list(bool has_counts) const;

private:
  struct Reason {
    std::string text;
    std::size_t points;
  };
  std::vector<Reason> reasons_;
};

/// Where the columns and rows are that the terminal leaves out.
inline constexpr std::string_view elsewhere = "--json, the files of --out";

/// Right-aligned cells under their heads; a failed row has the number of its reason after its keys. If the
/// keys have no room for whole words on a page of `width` columns, they share a column.
doc::Table points_table(const SweepResult& result, const std::vector<const SweepRow*>& rows, Reasons& reasons,
                        std::size_t width);

/// The same for a browser, with the numbers of the points, the throughput per GPU and bars.
doc::Table points_table_of_page(const SweepResult& result, const std::vector<const SweepRow*>& rows,
                                Reasons& reasons);

}  // namespace trainyard
