#pragma once
// Columns of a row that is somebody's report about a training run, and names the experiment that describes
// the run. workloads/published/README.md, "Reports of people who train", defines them.

#include "published/layout_columns.hpp"

#include <array>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace trainyard {

/// A key that the source omits, and its plausible values.
struct ReportRange {
  std::string key;  ///< as in --set
  std::string low, high;
};

struct ReportColumns {
  std::string id = {};
  std::string layout = {};               ///< in the words of the source
  std::string experiment = {};           ///< its file; empty: none describes the report
  std::vector<ReportRange> ranges = {};  ///< all are at their low ends together, or at their high ends
};

/// A file of reports has the column `experiment`, or all of these.
inline constexpr std::array<std::string_view, 4> columns_of_reports{"id", "software", "layout", "batch"};

/// `url` and `measured` are names in tables of others.
inline constexpr std::array report_aliases{
    ColumnAlias{"gpus_total", "gpus"}, ColumnAlias{"framework", "software"},
    ColumnAlias{"batch_per_gpu", "batch"}, ColumnAlias{"source", "url"}, ColumnAlias{"value", "measured"}};

/// The ranges of a cell "KEY=LOW..HIGH;KEY=LOW..HIGH", or what is wrong with it.
tl::expected<std::vector<ReportRange>, std::string> ranges_of(std::string_view cell);

}  // namespace trainyard
