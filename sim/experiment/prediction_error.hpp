#pragma once
// The expected error of a job's prediction: which published runs are comparable to it, under which fit.

#include "accuracy/expected_error.hpp"
#include "config/catalogue.hpp"
#include "experiment/input_files.hpp"
#include "experiment/resolved_experiment.hpp"
#include "units/known.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace trainyard {

/// How kernel times were fitted, as `validate` names it: "nothing", "software" or "1gpu".
std::string_view fit_of(const ResolvedExperiment& resolved);

Circumstances circumstances_of(const ResolvedExperiment& resolved);

/// Whether runs whose ranks share a model are comparable to it: circumstances_of() has a layout.
bool has_layout_errors(const ResolvedExperiment& resolved);

/// The names of files with the errors of published runs whose ranks share a model begin with this.
inline constexpr std::string_view layouts_prefix = "layouts_";

/// The file with the errors of published runs under this fit; empty if it is not installed. `of_layouts`: of
/// runs whose ranks share a model.
std::filesystem::path published_errors_file(const config::Catalogue& catalogue, std::string_view fit,
                                            bool of_layouts = false);

/// The errors in that file, read once for `files`; null if not installed. Throws InputError and FileError.
std::shared_ptr<const PublishedErrors> known_errors(const config::Catalogue& catalogue, std::string_view fit,
                                                    bool of_layouts, InputFiles& files);

/// Facts about a job that determine the expected error of a comparison with another job.
struct PredictedJob {
  Circumstances of = {};
  std::string fit = {};           ///< as fit_of
  std::string software_fit = {};  ///< the same without the measurement of one GPU
};

/// The facts, or why there are none: a trace, or ranks that share a model.
Known<PredictedJob> predicted_job(const ResolvedExperiment& resolved);

/// The expected error, or why it is unknown: a trace whose times were not all measured on the machine's GPU,
/// no errors installed, or ranks that share a model in a
/// way that no published run at hand has.
Known<ExpectedError> prediction_error(const ResolvedExperiment& resolved);

}  // namespace trainyard
