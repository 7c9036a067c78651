#pragma once
// Pages and JSON of `trainyard validate` and `trainyard calibrate`. Errors in JSON are ratios;
// workloads/published/README.md has the fields.

#include "calibration/fit_collectives.hpp"
#include "calibration/fit_stack.hpp"
#include "compute/gpu_profile.hpp"
#include "compute/recording.hpp"
#include "document/document.hpp"
#include "published/assumptions.hpp"
#include "published/memory_outcomes.hpp"
#include "published/software_fit.hpp"
#include "published/validate.hpp"
#include "published/validation.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Version of the JSON of `validate`.
inline constexpr int validation_schema_version = 4;

/// Cases of whatever kind: for each fit a table by family, the coverage of the intervals, cases with large
/// errors and their suspected causes, and the rows left out; runs whose ranks share a model also have pairs
/// and memory. All of it after a list of every case, unless `only_families`.
void add_cases(doc::Document& page, const Validation& validation, const std::vector<Fit>& fits,
               bool only_families);
nlohmann::ordered_json case_validation_json(const Validation& validation, Fit fit);

/// The rows of such JSON, of several kinds, as CSV; cells are empty where JSON has null.
std::string validated_cases_csv(const std::vector<nlohmann::ordered_json>& validations);

/// Verdicts against published outcomes: a line for each framework and precision, the totals, and every wrong
/// verdict.
void add_memory_outcomes(doc::Document& page, const MemoryValidation& validation);
nlohmann::ordered_json memory_outcomes_json(const MemoryValidation& validation);

/// Mean errors with a smaller, the current and a larger value of each assumption; the largest effects first.
void add_assumptions(doc::Document& page, const std::vector<AssumptionEffect>& effects, Fit fit);
nlohmann::ordered_json assumptions_json(const std::vector<AssumptionEffect>& effects);

/// Every size of every curve, then a line per curve, then families and all together, then the excluded rows.
/// `only_curves` omits the sizes.
void add_collectives(doc::Document& page, const CollectiveValidation& validation, bool only_curves);

/// {schema_version, overall, families, baselines, curves, rows, outliers, excluded}: errors as ratios,
/// measured and predicted values with their unit.
nlohmann::ordered_json validation_json(const CollectiveValidation& validation);

/// The fitted constants' errors by curve, and rates next to those of the platform files.
doc::Document fit_document(const CollectiveFit& fit);

/// The held-out errors of a profile and those of scaling, one line per group of kernels; of the recordings
/// launches, copies at the largest size, collectives, the slowdown of kernels by concurrent copies, and
/// power.
doc::Document calibration_document(const GpuProfile& gpu, const std::vector<Recording>& recordings);

/// Every row used for the fit with its own scale, and the scale of all of them.
doc::Document stack_fit_document(const StackFit& fit);

/// The errors on runs left out of the fit and the factors that hold for all frameworks and GPUs.
doc::Document software_fit_document(const Software& software);

}  // namespace trainyard
