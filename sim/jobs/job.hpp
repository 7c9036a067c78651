#pragma once
// A job of another framework as an experiment: its settings, read from the launcher's file and the files that
// it names, the fate of each, and the experiment that comes out.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "jobs/draft.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

struct ImportedJob {
  std::string tool;  ///< "arguments of Megatron-LM, in a script for torchrun"
  std::vector<Account> account;
  std::vector<Assumption> assumptions;
  std::vector<std::string> warnings;
  /// Settings that contradict each other: the experiment is refused, unless options change one of them.
  std::vector<Diagnostic> contradictions = {};
  std::string experiment;          ///< YAML
  config::Document document = {};  ///< the same, with the places of the job's settings
  std::string gpu = {};            ///< the name of the GPU that the job asks for ("h100"); may be empty
};

/// Whether a file is such a job, by its content. False if it cannot be read.
bool is_job_file(const std::filesystem::path& file);

/// Reads a job. Throws InputError for a file that is none, and with its place for a syntax error, a repeated
/// key or a value that cannot be, and FileError if it cannot be read.
///
/// `out`: the file that the experiment will be written to, from which it names a model file; empty: the
/// job's.
ImportedJob read_job(const config::Catalogue& catalogue, const std::filesystem::path& file,
                     const std::filesystem::path& out = {});

/// A line on the settings that are not modelled, by the direction of their effect: "not modelled of
/// llama.toml: a real step is shorter (enable_async_tensor_parallel)". Empty if there are none.
std::string note_on(const ImportedJob& job);

}  // namespace trainyard::jobs
