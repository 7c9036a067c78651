#pragma once
// Selects the measurements that a case's kernel times may be scaled to.

#include "published/validation.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// The cases among which references are looked up: first the given rows, then all rows of the lookup.
class References {
public:
  explicit References(const std::shared_ptr<const PublishedData>& data);

  /// The references of a case of plain data parallelism: runs of its series on one GPU, and on one full node.
  /// A series with neither takes its runs on the fewest GPUs, whatever their batch, in place of a node.
  [[nodiscard]] AskedCase asked(const Case& of) const;

private:
  using Runs = std::map<std::string, std::vector<Case>>;  ///< by series

  [[nodiscard]] std::vector<const Case*> smallest_of(const Runs& runs, const Case& target) const;

  Runs given_, lookup_;
};

/// References of cases whose ranks share a model, by place: the cases on the fewest GPUs of the series, at
/// most seven, spread over the order of the rows. No case refers to its own experiment.
std::vector<AskedCase> asked_layouts(const std::vector<ScoredCase>& cases);

/// References of trainings to a target, by place: the time to train on the fewest GPUs of the same system, in
/// the first year, with the samples that it took. `kept` owns the references. A case of that result has none.
std::vector<AskedCase> asked_targets(const std::vector<ScoredCase>& cases, std::deque<Case>& kept);

}  // namespace trainyard
