#pragma once
// Rows about trainings to a target as cases: samples to the target from the reference points of the model's
// `convergence`, time, energy and cost of as many samples. Rows of DAWNBench state their epochs, which are
// taken.

#include "config/catalogue.hpp"
#include "published/case.hpp"
#include "workload/model.hpp"

#include <map>
#include <string>
#include <vector>

namespace trainyard {

/// A figure of a row and its case, or why it has none.
struct TargetCase {
  CaseFigure figure{};
  double measured = 0;
  std::variant<Case, std::string> of;
};

class TargetCaseReader {
public:
  TargetCaseReader(const config::Catalogue& catalogue, std::shared_ptr<const PublishedData> data)
      : catalogue_(catalogue), data_(std::move(data)) {}

  /// The figures that the row states. A case of samples to the target has no machine or software.
  std::vector<TargetCase> cases_of(const PublishedRow& row);

private:
  const Model& model_named(const std::string& name);
  std::variant<CaseTarget, std::string> target_of(const PublishedRow& row, const ModelRule* rule);
  std::variant<Case, std::string> run_of(const PublishedRow& row, const ModelRule& rule,
                                         const CaseTarget& target);

  const config::Catalogue& catalogue_;
  std::shared_ptr<const PublishedData> data_;
  std::map<std::string, Model> models_;
};

}  // namespace trainyard
