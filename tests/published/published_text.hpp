#pragma once
// Published rows as text, for tests: the columns, and one row with some cells changed.

#include "published/published_files.hpp"
#include "rules/run_rules.hpp"
#include "shipped_catalogue.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

inline std::string published_header() {
  std::string text;
  for (const PublishedColumn& column : published_columns)
    text += (text.empty() ? "" : ",") + std::string(column.name);
  return text + "\n";
}

/// An all-reduce on the eight GPUs of a cube mesh; `cells` replaces columns by name.
inline std::string published_line(const std::map<std::string, std::string>& cells = {}) {
  const std::map<std::string, std::string> usual{{"source", "a test"},
                                                 {"system", "a box"},
                                                 {"gpu", "V100-SXM2-16GB"},
                                                 {"gpus_per_node", "8"},
                                                 {"nodes", "1"},
                                                 {"gpus_total", "8"},
                                                 {"interconnect_intra", "NVLink2 hybrid cube mesh"},
                                                 {"framework", "NCCL 2.12.10"},
                                                 {"model", "allreduce 1048576 B"},
                                                 {"metric", "allreduce_time"},
                                                 {"value", "100"},
                                                 {"unit", "us"},
                                                 {"clean", "yes"},
                                                 {"split", "validate"}};
  std::string text;
  for (std::size_t i = 0; i < published_columns.size(); ++i) {
    const std::string column(published_columns[i].name);
    const auto cell = cells.find(column);
    const auto other = usual.find(column);
    text += i == 0 ? "" : ",";
    text += cell != cells.end() ? cell->second : other != usual.end() ? other->second : "";
  }
  return text + "\n";
}

inline std::vector<PublishedRow> rows_of(const std::string& lines) {
  return read_published_rows("rows.csv", published_header() + lines);
}

inline std::shared_ptr<const PublishedData> data_of(std::vector<PublishedRow> rows, MachineRules machines,
                                                    RunRules runs = {},
                                                    std::vector<PublishedRow> lookup = {}) {
  return std::make_shared<const PublishedData>(PublishedData{.machine_rules = std::move(machines),
                                                             .run_rules = std::move(runs),
                                                             .rows = std::move(rows),
                                                             .lookup = std::move(lookup)});
}

struct ShippedRules {
  MachineRules machines;
  RunRules runs;
};

/// The shipped rules with this name ("published", "layouts"), read once for each test program.
inline const ShippedRules& rules_shipped_as(const std::string& name) {
  static std::map<std::string, ShippedRules> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  const config::Catalogue& shipped = testing::shipped_catalogue();
  return known.emplace(name, ShippedRules{read_machine_rules(shipped, name), read_run_rules(shipped, name)})
      .first->second;
}

}  // namespace trainyard
