#pragma once
// The valid rows of a plan: the ops with their variants, data types and shapes, in one table for checks and
// messages.

#include "measurement.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

/// The error in a cell and a hint for correcting it.
struct CellProblem {
  std::string message;
  std::string hint;
};

/// All errors in a request's op, variant, dtype, shape and bytes; empty if there are none.
std::vector<CellProblem> problems_of(const Request& request);

/// The ops, for `--help`: "gemm, conv_forward, ...".
std::string op_names();

}  // namespace trainyard::cuda
