#pragma once
// The configurations of ASTRA-sim that its exports write beside a workload.

#include "exports/astra_configs.hpp"
#include "run/run.hpp"

#include <string>

namespace trainyard {

/// STEM.network.yml and STEM.system.json.
struct AstraConfigFiles {
  std::string network, system;
};
AstraConfigFiles astra_config_files(const std::string& stem);

/// Throws FileError if one of them exists and may not be replaced.
void check_astra_configs(const AstraConfigFiles& files, bool force);

/// Writes both, and says so. A network that ASTRA-sim cannot express is left out with the reason.
void write_astra_configs(const Run& run, const AstraConfigFiles& files, bool force);

}  // namespace trainyard
