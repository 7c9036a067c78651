#pragma once
// Reads the files with an experiment's random factors.

#include "experiment/randomness.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The column `factor` of a CSV, ascending. Throws InputError with every cell that is not a number above 0.
std::vector<double> read_factors(const std::string& name, std::string_view text);

/// Reads the files named by empirical distributions, relative to the experiment's file or to the current
/// folder, and replaces the names by full paths, which it also adds to `paths`. Throws InputError or
/// FileError.
void read_factor_files(Randomness& randomness, const std::filesystem::path& experiment,
                       std::set<std::string>& paths);

}  // namespace trainyard
