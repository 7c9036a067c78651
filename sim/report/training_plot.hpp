#pragma once
// `trainyard validate --plot-runs`: predicted / published training throughput over the number of GPUs as SVG,
// one panel per family (a line of the table), with the fit to one GPU, with linear scaling of
// the same runs in grey.

#include "published/validation.hpp"

#include <string>

namespace trainyard {

/// Scored runs of the families that count in the totals; rows whose column clean is partial are hollow.
std::string training_plot(const Validation& validation);

}  // namespace trainyard
