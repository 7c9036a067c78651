#pragma once
// Reads the output of nccl-tests and rccl-tests (all_reduce_perf and others), of any version, also between
// the lines of launchers and of NCCL's own log, and the JSON that they write.

#include "collectives/operation.hpp"
#include "interchange/input_text.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// One half of a row: with separate buffers, or in place.
struct NcclTestsTime {
  Seconds time;
  Bandwidth algbw, busbw;
  std::optional<double> wrong = {};  ///< values that were wrong; empty if not checked
};

struct NcclTestsRow {
  int line = 0;
  Bytes size;
  std::string type;  ///< "float"
  NcclTestsTime out_of_place;
  std::optional<NcclTestsTime> in_place = {};
};

/// A run of one of the programs.
struct NcclTestsTable {
  int line = 0;
  std::optional<Operation> operation = {};  ///< empty if neither a command nor the figures tell it
  int ranks = 0, nodes = 0;                 ///< 0 if they are unknown
  bool is_list_whole = true;                ///< false: the list of ranks has gaps
  std::string gpu;                          ///< "NVIDIA GeForce RTX 3090"; empty if not said
  std::string nccl;                         ///< "2.19.3"; empty if not said
  std::vector<NcclTestsRow> rows;
  std::optional<Bandwidth> average_busbw = {};
  bool has_reduction = false, has_root = false;  ///< columns that tell the operation
  bool has_deviations = false;  ///< the column of wrong values was that of the largest deviation, until 2.12
  bool is_in_bounds = false;    ///< "Out of bounds values : 0 OK"
};

struct NcclTestsLog {
  std::vector<NcclTestsTable> tables;
  int cut_rows = 0;            ///< that other output cut into pieces which do not make a row again
  int contradictory_rows = 0;  ///< whose bus bandwidth is not the factor of their operation times the other
};

struct NcclTestsAnswers {
  std::optional<Operation> operation = {};    ///< where the log does not say it
  std::optional<int> ranks = {}, nodes = {};  ///< they replace those of the log
};

/// The operation of a program, "all_reduce_perf"; nothing if it is none of ours.
std::optional<Operation> operation_of_program(std::string_view program);

/// Throws InputError if the text has no table of nccl-tests, or if most of its rows contradict their
/// operation and number of ranks.
NcclTestsLog read_nccl_tests(const InputText& input, const NcclTestsAnswers& answers = {});

}  // namespace trainyard
