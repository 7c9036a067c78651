#pragma once
// The platform of an experiment and the profile of its GPUs or processors.

#include "experiment/experiment_reading.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace trainyard {

/// Found besides the platform and its profile, which become part of the resolved experiment.
struct Machine {
  std::filesystem::path profile;    ///< the profile's file; empty if its name is unknown
  std::optional<std::string> note;  ///< on price and power of swapped GPUs
};

/// Throws InputError if the platform cannot be read, which leaves `machine` empty, or its profile; other
/// errors are collected.
void read_machine(ExperimentReading& in, std::optional<Machine>& machine);

/// Recorded ops are PyTorch's; other frameworks have kernels of their own, such as a fused batch norm. Reads
/// the profile that `profile` names for the stack's framework, if it is another one.
void take_profile_of_framework(ExperimentReading& in, const std::filesystem::path& profile);

}  // namespace trainyard
