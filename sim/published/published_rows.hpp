#pragma once
// Published measurements as CSV: one row each, in the columns of workloads/published (its README.md says what
// they mean). Nothing is understood here but numbers; collective_curves.hpp and later the training runs make
// sense of rows.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct PublishedRow {
  std::string file;
  int line = 0;
  std::string source, source_detail, year, system, gpu;
  int gpus_per_node = 0;  ///< used of each node; 0: neither given nor to be had from the next two
  int nodes = 0;          ///< likewise
  int gpus_total = 0;     ///< likewise; of one node also fewer than gpus_per_node
  std::string interconnect_intra, interconnect_inter, framework, model, precision;
  std::string batch_per_gpu, global_batch, seq_len;
  std::string metric;
  double value = 0;       ///< in `unit`; 0: none given
  double last_digit = 0;  ///< a unit of the value's last digit as it is printed: 0.1 of "20.0", 1 of "20"
  std::string unit, speedup_reported, clean, split, notes;
  int servers = 0;     ///< of parameters, in all; 0: not said
  std::string update;  ///< what the framework was told of how to update variables; usually not said
};

/// The columns, in the order of the shipped files.
inline constexpr std::array<std::string_view, 23> published_columns{"source",
                                                                    "source_detail",
                                                                    "year",
                                                                    "system",
                                                                    "gpu",
                                                                    "gpus_per_node",
                                                                    "nodes",
                                                                    "gpus_total",
                                                                    "interconnect_intra",
                                                                    "interconnect_inter",
                                                                    "framework",
                                                                    "model",
                                                                    "precision",
                                                                    "batch_per_gpu",
                                                                    "global_batch",
                                                                    "seq_len",
                                                                    "metric",
                                                                    "value",
                                                                    "unit",
                                                                    "speedup_reported",
                                                                    "clean",
                                                                    "split",
                                                                    "notes"};

/// Columns that a file need not have.
inline constexpr std::array<std::string_view, 2> optional_columns{"servers", "update"};

/// The rows of a file called `name`. Columns may stand in any order, further ones are ignored. Throws one
/// InputError with everything that is wrong: columns that are missing, counts and values that are no numbers.
std::vector<PublishedRow> read_published_rows(const std::string& name, std::string_view text);

}  // namespace trainyard
