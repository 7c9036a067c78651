#pragma once
// Published training runs as experiments that `trainyard run` takes.

#include "config/catalogue.hpp"
#include "published/validation.hpp"

#include <string>
#include <vector>

namespace trainyard {

struct PublishedExperiment {
  std::string file;  ///< experiment_file() of its row
  std::string text;  ///< comments (the measurement and where it stands), then the resolved experiment
};

/// "parallel-12.yaml": the name of the row's table, and its line.
std::string experiment_file(const PublishedRow& row);

/// One for each step that can be predicted, in the order of the rows. `trainyard run` predicts runs whose
/// ranks share a model as the fit `software` does; the others with the shipped software, which is also fitted
/// to series that the fit `software` leaves out for the run.
std::vector<PublishedExperiment> published_experiments(const config::Catalogue& catalogue,
                                                       const Validation& validation);

}  // namespace trainyard
