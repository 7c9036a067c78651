#pragma once
// Models of other files that have the name of a shipped one.

#include "experiment/experiment_reading.hpp"

#include <filesystem>

namespace trainyard {

/// Whether the experiment's model, read from `path`, has the name of a shipped model but other layers with
/// parameters.
bool is_namesake(const ExperimentReading& in, const std::filesystem::path& path);

}  // namespace trainyard
