#pragma once
// Reads published rows and the rules for their machines, models and software: the shipped ones, or those that
// a user names.

#include "config/catalogue.hpp"
#include "published/published_rows.hpp"
#include "rules/machine_rules.hpp"
#include "rules/run_rules.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace trainyard {

/// workloads/published/*.csv of the first root that has any, sorted. Throws FileError if none has.
std::vector<std::filesystem::path> shipped_measurements(const config::Catalogue& catalogue);

/// The rows of all files; the shipped ones if `files` is empty. Throws one InputError with all their errors,
/// or FileError.
std::vector<PublishedRow> read_published_files(const config::Catalogue& catalogue,
                                               const std::vector<std::string>& files);

/// The shipped rules (workloads/published/machines/published.yaml), or those of a file.
MachineRules read_machine_rules(const config::Catalogue& catalogue, const std::string& name_or_path);
RunRules read_run_rules(const config::Catalogue& catalogue, const std::string& name_or_path);

}  // namespace trainyard
