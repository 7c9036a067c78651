#pragma once
// Errors of validated training runs put together: by family or over all, with what was left out told beside
// it as coverage and as the errors that linear scaling has there.

#include "published/validate_training.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// Which runs are put together.
struct RunSelection {
  std::optional<std::string> family = {};  ///< otherwise all that are claimed
  std::optional<std::string> stack = {};   ///< by name; otherwise all
  bool is_partial = false;                 ///< rows that are clean in part; otherwise clean ones
  bool by_outcome = true;                  ///< R7 and R8 leave runs out
};

/// Errors of runs together, as ratios.
struct RunErrors {
  int rows = 0;
  std::optional<double> mape, median, p90, worst;
  std::optional<double> coverage;         ///< scored ones of those that should be and have what R4 asks for
  std::optional<double> coverage_of_all;  ///< the same with runs counted whose series has no row to fit to
  std::optional<double> linear;           ///< MAPE of scaling what the protocol fits to; of the same rows
  std::optional<double> with_excluded;    ///< MAPE with runs left out, by their errors under linear scaling
};

RunErrors errors_of(const TrainingValidation& validation, FitProtocol protocol,
                    const RunSelection& selection);

}  // namespace trainyard
