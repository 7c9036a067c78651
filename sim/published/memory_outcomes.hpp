#pragma once
// Verdicts about memory against published outcomes: batches that ran, which are the rows of published
// training runs, and batches about which nothing else is known (workloads/published/memory_outcomes.csv).
// Nothing is simulated.

#include "config/catalogue.hpp"
#include "published/predict_cases.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

struct MemoryOutcome {
  Case of = {};
  bool ran = true;             ///< as published
  std::string framework = {};  ///< without version: "PyTorch"
  CaseMemory memory = {};      ///< of the fullest rank

  [[nodiscard]] bool is_right() const { return memory.fits == ran; }
};

struct MemoryValidation {
  std::vector<MemoryOutcome> outcomes;
  std::map<std::string, int> excluded;  ///< failed batches without a verdict, by reason
};

/// Verdicts on the data's rows that state one, and on its runs: runs of one series, which differ only in the
/// number of GPUs, count once, on the fewest GPUs above one. Rows without a published figure or a model are
/// left out.
MemoryValidation validate_memory(const config::Catalogue& catalogue,
                                 const std::shared_ptr<const PublishedData>& data, int parallel);

}  // namespace trainyard
