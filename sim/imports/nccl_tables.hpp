#pragma once
// Completes the tables of nccl-tests once their rows are read, in any format: ranks of a list that is not
// whole, the operation, and marks of wrong rows.

#include "imports/nccl_tests.hpp"

#include <map>
#include <optional>
#include <string>

namespace trainyard {

/// The GPUs that a file lists, perhaps not all of them: people shorten logs.
class NcclRankList {
public:
  void add(int rank, std::string host, std::optional<int> device);
  void clear() { ranks_.clear(); }
  [[nodiscard]] int ranks() const;  ///< the last one's number + 1; 0 without any
  [[nodiscard]] bool is_whole() const { return static_cast<int>(ranks_.size()) == ranks(); }
  /// The hosts of a whole list. Else as many GPUs on each as the last one's device says, as ranks fill one
  /// node after the other; 0 if that is no whole number or the device says nothing (0: each process may see
  /// its own GPU alone).
  [[nodiscard]] int nodes() const;

private:
  struct Place {
    std::string host;
    std::optional<int> device;
  };
  std::map<int, Place> ranks_;
};

/// Takes the answers, which replace those of the file; judges deviations; tells the operation by
/// the ratio of the bandwidths, or takes that of the file's other tables; leaves out rows that contradict it.
/// Throws InputError with the first of them if they are most of those that tell.
void complete_tables(NcclTestsLog& log, const std::string& file, const NcclTestsAnswers& answers);

/// Whether a text begins as the JSON of nccl-tests (option -J, since 2.17) or of rccl-tests (-Z json) does:
/// an object with "results" or "busBw", or a list of the latter.
bool is_nccl_tests_json(const InputText& input);

/// As read_nccl_tests. A file of rccl-tests is a list of records, or one record a line; records of one
/// operation, number of ranks and type are a table. Records without a size or bandwidths are counted as cut.
NcclTestsLog read_nccl_tests_json(const InputText& input, const NcclTestsAnswers& answers);

}  // namespace trainyard
