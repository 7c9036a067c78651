#pragma once
// Measurements of nccl-tests as rows that `trainyard validate` and `trainyard calibrate collectives` read.

#include "imports/nccl_tests.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// Facts of the machine that a log does not state.
struct NcclRowsOptions {
  std::string source;  ///< of every row
  std::optional<std::string> system = {}, gpu = {}, intra = {}, inter = {};
  std::string split = "validate";  ///< or "calibrate"
};

struct NcclRows {
  std::string csv;
  int rows = 0;
  int empty = 0;   ///< left out: of size 0 or without a time
  int untold = 0;  ///< left out: of an unknown operation or number of ranks
  bool lacks_operation = false, lacks_gpus = false,
       lacks_nodes = false;  ///< reasons: some lack the operation, the GPUs or the nodes
  int wrong = 0;             ///< kept, but not clean: nccl-tests found wrong values
};

/// Throws InputError for a table whose nodes do not have equally many GPUs.
NcclRows nccl_rows(const NcclTestsLog& log, const NcclRowsOptions& options);

}  // namespace trainyard
