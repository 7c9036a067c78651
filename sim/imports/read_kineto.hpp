#pragma once
// Reads a profile of torch.profiler (Kineto), of any of its three ages: JSON in the Chrome trace format,
// plain or compressed by gzip.

#include "imports/profile.hpp"

#include <filesystem>
#include <optional>

namespace trainyard {

struct KinetoOptions {
  bool allow_truncated = false;    ///< the events of a file that is cut off, up to there
  std::optional<int> device = {};  ///< the GPU whose work is read, where several ran kernels
  bool one_thread = false;         ///< inflates where it reads: other threads read more files meanwhile
};

/// The events that importers need. Throws FileError, or InputError with the byte, if the file is no such
/// profile, is cut off, or has times or sizes that are no numbers; also if it has no event of a GPU,
/// or kernels of several and none is chosen.
Profile read_kineto(const std::filesystem::path& file, const KinetoOptions& options = {});

}  // namespace trainyard
