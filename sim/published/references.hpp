#pragma once
// Which measurements a case's kernel times may be scaled to.

#include "published/validation.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// The cases among which references are looked up: those of the given rows, then those of others.
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

/// Of cases whose ranks share a model, by place: the others on the fewest GPUs of its series, or seven of
/// them, spread over the order of the rows, without those that are the same experiment.
std::vector<AskedCase> asked_layouts(const std::vector<ScoredCase>& cases);

/// Of trainings to a target, by place: the time to train on the fewest GPUs of the same system, of the first
/// year, with the samples that it took, which is kept in `kept`. A case of that result has no reference.
std::vector<AskedCase> asked_targets(const std::vector<ScoredCase>& cases, std::deque<Case>& kept);

}  // namespace trainyard
