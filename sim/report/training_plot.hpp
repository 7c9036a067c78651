#pragma once
// `trainyard validate --plot-runs`: predicted / published training throughput over the number of GPUs as SVG,
// a panel for each family, under the protocol that fits to one GPU, with linear scaling of the same runs in
// grey.

#include "published/validate_training.hpp"

#include <string>

namespace trainyard {

/// Runs of claimed families that the protocol scores; rows clean in part are hollow.
std::string training_plot(const TrainingValidation& validation);

}  // namespace trainyard
