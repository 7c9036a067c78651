#pragma once
// The expected error of a job's prediction: which published runs are comparable to it, under which fit.

#include "accuracy/expected_error.hpp"
#include "experiment/resolve.hpp"
#include "units/known.hpp"

#include <string_view>

namespace trainyard {

/// How kernel times were fitted, as `validate` names it: "nothing", "software" or "1gpu".
std::string_view fit_of(const ResolvedExperiment& resolved);

Circumstances circumstances_of(const ResolvedExperiment& resolved);

/// The expected error, or why it is unknown: a trace, or no errors installed.
Known<ExpectedError> prediction_error(const ResolvedExperiment& resolved);

}  // namespace trainyard
