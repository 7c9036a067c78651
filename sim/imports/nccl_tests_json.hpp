#pragma once
// The JSON of nccl-tests (option -J, since 2.17) and of rccl-tests (option -Z json): the same tables as
// printed.

#include "imports/nccl_tests.hpp"

namespace trainyard {

/// Whether a text begins as either does: an object with "results" or "busBw", or a list of the latter.
bool is_nccl_tests_json(const InputText& input);

/// As read_nccl_tests. A file of rccl-tests is a list of records, or one record a line; records of one
/// operation, number of ranks and type are a table. Records without a size or bandwidths are counted as cut.
NcclTestsLog read_nccl_tests_json(const InputText& input, const NcclTestsAnswers& answers);

}  // namespace trainyard
