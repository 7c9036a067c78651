#pragma once
// The plan: the measurements, in order of importance. `trainyard calibrate gpu` writes it; this program
// executes it without any decisions of its own.

#include "measurement.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

struct PlanRow {
  Request request;
  int line = 0;  ///< in the plan's file, 1-based
};

/// Reads a plan: lines of comments ('#'), the header op,variant,dtype,shape,bytes, rows. Throws InputError
/// with every problem found.
std::vector<PlanRow> parse_plan(const std::string& name, std::string_view text);

/// The same from a file. Throws FileError if it cannot be read.
std::vector<PlanRow> read_plan(const std::string& path);

/// The whole text of a file. Throws FileError, also if it is larger than 64 MiB, more than any plan or
/// recording.
std::string read_text(const std::string& path);

}  // namespace trainyard::cuda
