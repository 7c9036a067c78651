#pragma once
// The files that an experiment's random factors come from.

#include "experiment/randomness.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The column `factor` of a CSV, ascending. Throws InputError with every cell that is no number above 0.
std::vector<double> read_factors(const std::string& name, std::string_view text);

/// Reads what empirical distributions name, relative to the experiment's file or to the current folder, and
/// writes the full paths in their place. What is read is added to `paths`. Throws InputError or FileError.
void read_factor_files(Randomness& randomness, const std::filesystem::path& experiment,
                       std::set<std::string>& paths);

}  // namespace trainyard
