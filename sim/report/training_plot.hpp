#pragma once
// `trainyard validate --plot-runs`: predicted against published training throughput as SVG, under the
// protocol that fits to one GPU. On the left run by run, on the right predicted / measured over the number of
// GPUs with linear scaling of the same runs in grey.

#include "study/validate_training.hpp"

#include <string>

namespace trainyard {

/// Runs of claimed families that the protocol scores; rows clean in part are hollow.
std::string training_plot(const TrainingValidation& validation);

}  // namespace trainyard
