#pragma once
// Which rows a plan may have: the ops with their variants, data types and shapes, in one table that checking
// and messages read.

#include "measurement.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

/// What is wrong with a cell and what to write instead.
struct CellProblem {
  std::string message;
  std::string hint;
};

/// Everything that is wrong with a request's op, variant, dtype, shape and bytes; empty if nothing is.
std::vector<CellProblem> problems_of(const Request& request);

/// The ops, for `--help`: "gemm, conv_forward, ...".
std::string op_names();

}  // namespace trainyard::cuda
