#pragma once
// Reads an experiment and all files that it names.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "experiment/input_files.hpp"
#include "experiment/overrides.hpp"
#include "experiment/resolved_experiment.hpp"

#include <filesystem>
#include <string>

namespace trainyard {

/// Stands for an experiment's name: there is no file, and overrides say everything. They must name a platform
/// and a model (or trace) and set the batch; the stack is pytorch on GPUs of 2022 and later, in precision
/// fp8 transformer_engine, and pytorch_ddp otherwise, if they name none.
inline constexpr const char* no_file = "";

/// Reads an experiment (name or path) and the files it names. Throws one InputError with all their errors, or
/// FileError.
ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& overrides);

/// Resolves one of several experiments: files that they share are read once.
ResolvedExperiment resolve(const config::Catalogue& catalogue, const std::string& experiment,
                           const Overrides& overrides, InputFiles& files);

/// Resolves an experiment already read; paths in it are relative to the folder of `file`.
ResolvedExperiment resolve(const config::Catalogue& catalogue, config::Document document,
                           const std::filesystem::path& file, const Overrides& overrides, InputFiles& files);

/// The experiment's file (name or path), as written.
const config::Document& experiment_document(const config::Catalogue& catalogue, const std::string& experiment,
                                            InputFiles& files);

}  // namespace trainyard
