#pragma once
// Reads a profile of Nsight Systems, exported to SQLite (nsys export --type sqlite), of schema 2 or 3. Times
// are ns. Kernels, copies, fills and graphs that were traced as a whole are joined with calls of the runtime
// by process and correlation; NVTX ranges are operators, steps and passes.

#include "imports/profile.hpp"

#include <optional>
#include <string>

namespace trainyard {

struct NsysOptions {
  std::optional<int> device = {};   ///< the GPU whose work is read, where several ran kernels
  std::optional<int> process = {};  ///< the process that is read, where several ran kernels on that GPU
  std::optional<int> ranks = {};    ///< of the job, which the export does not say
};

/// The events that importers need, of one process and its GPU. Throws FileError, or InputError if the file is
/// no such export, is damaged, has values of another type, or has work of several GPUs or processes and none
/// is chosen. Missing tables are events that were not recorded; without kernels there is nothing to read.
Profile read_nsys(const std::string& file, const NsysOptions& options = {});

}  // namespace trainyard
