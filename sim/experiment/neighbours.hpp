#pragma once
// Other jobs on the machine of an experiment.

#include "config/catalogue.hpp"
#include "experiment/input_files.hpp"
#include "experiment/resolved_experiment.hpp"

#include <filesystem>
#include <string>

namespace trainyard {

/// Reads a neighbour of an experiment on `platform` whose stack has this `intra_node`. `name`: as the
/// experiment names it, `file`: where it is. Throws InputError or FileError: for keys that a neighbour cannot
/// have, and for another machine.
ResolvedExperiment read_neighbour(const config::Catalogue& catalogue, const std::string& name,
                                  const std::filesystem::path& file, const Platform& platform,
                                  IntraNode intra_node, InputFiles& files);

}  // namespace trainyard
