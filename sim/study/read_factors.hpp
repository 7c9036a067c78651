#pragma once
// The files that an experiment's random factors come from.

#include "schedule/step_times.hpp"

#include <filesystem>

namespace trainyard {

/// Reads what empirical distributions name, relative to the experiment's file or to the current folder, and
/// writes the full paths in their place. Throws InputError or FileError.
void read_factor_files(Randomness& randomness, const std::filesystem::path& experiment);

}  // namespace trainyard
