#pragma once
// Verdicts about memory against published outcomes: batches that ran, which are the rows of published
// training runs, and batches that failed for lack of memory (workloads/published/memory). Nothing is
// simulated.

#include "config/catalogue.hpp"
#include "published/predict_cases.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
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

/// A failed or a successful batch of the file of outcomes.
struct PublishedOutcome {
  PublishedRow row;
  bool ran = false;
};

/// Reads a file of outcomes, with the columns source, source_detail, year, gpu, gpus_per_node (of one node),
/// interconnect_intra, framework, model, precision, batch_per_gpu, seq_len, outcome (ran or failed) and
/// notes. Throws one InputError with all errors.
std::vector<PublishedOutcome> read_memory_outcomes(const std::string& name, std::string_view text);

/// The shipped file of outcomes.
std::vector<PublishedOutcome> shipped_memory_outcomes(const config::Catalogue& catalogue);

/// Verdicts on `outcomes`, and on the data's runs: runs of one series, which differ only in the number of
/// GPUs, count once, on the fewest GPUs above one. Rows without a published figure or a model are left out.
MemoryValidation validate_memory(const config::Catalogue& catalogue,
                                 const std::shared_ptr<const PublishedData>& data,
                                 const std::vector<PublishedOutcome>& outcomes, int parallel);

}  // namespace trainyard
