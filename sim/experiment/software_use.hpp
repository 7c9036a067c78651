#pragma once
// Which factors of fitted software hold for a job.

#include "experiment/resolved_experiment.hpp"
#include "strategy/software.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// A model, or the one that a trace names, and the length of its sequences if it has any: "bert_large@384".
std::string model_configuration(const ResolvedExperiment& resolved);

/// The columns of the table of factors for a job. Throws as matrix_dtype.
SoftwareUse software_use(const ResolvedExperiment& resolved);

/// How much slower the job's ops are than their kernels. Factors on kernels hold for the kind of profile that
/// they were fitted to; they are 1 if a framework's ops were recorded on the GPU (`vector_kernels`). The cost
/// of launches holds for all.
OpSlowdown slowdown_of(const Software& software, const ResolvedExperiment& resolved);

}  // namespace trainyard
