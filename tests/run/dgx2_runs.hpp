#pragma once
// Runs of resnet50_dgx2 with other keys.

#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <string>
#include <vector>

namespace trainyard::testing {

inline config::Catalogue catalogue() { return {{TRAINYARD_SOURCE_DIR}}; }

/// With equally fast GPUs, unless stated otherwise.
inline ResolvedExperiment resolved(Overrides overrides) {
  overrides.insert(overrides.begin(), {"random.gpus", "none"});
  return shipped_experiment("resnet50_dgx2", overrides);
}

/// In-process: `closed` needs no SimGrid, so any number may run.
inline Run closed(const ResolvedExperiment& resolved) {
  return simulate(resolved, {.fidelity = Fidelity::closed});
}

/// The notes of a result but for the assumptions that every one has.
inline std::vector<std::string> notes_of(const Run& run) {
  std::vector<std::string> notes = run.notes;
  std::erase_if(notes, [](const std::string& note) {
    return note.starts_with("memory: ") || note.starts_with("energy: ");
  });
  return notes;
}

inline std::string message_of(const std::string& experiment, const Overrides& overrides) {
  try {
    resolve(catalogue(), experiment, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace trainyard::testing
