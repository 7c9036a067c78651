#pragma once
// An execution trace of PyTorch (ExecutionTraceObserver) as its file has it: the operators that a host ran,
// with the tensors that they read and wrote, and no times. Schema 1.0.1 is flat; since 1.0.2 operands and
// attributes are lists of their own.

#include "imports/profile.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A tensor as an operand.
struct TracedTensor {
  std::uint64_t storage = 0;  ///< shared by views of the same memory
  double elements = 0, bytes_each = 0;
  bool is_on_host = false;
  [[nodiscard]] double bytes() const { return elements * bytes_each; }
};

/// A collective as its caller describes it.
struct ObservedCollective {
  std::string name;   ///< "allreduce"; "wait" and "init" are none
  std::string group;  ///< its name; empty if it is not said
  int ranks = 0;      ///< 0 if unknown
  double in_bytes = 0, out_bytes = 0;
};

struct TracedNode {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::uint64_t record = 0;  ///< number of the call in the order of starts; profiles of Kineto have it since
                             ///< 2024; 0: none
  std::uint64_t thread = 0, forward_thread = 0;
  std::optional<std::uint64_t> sequence = {};  ///< of an op and of its backward op
  std::string name;
  bool is_range = false;                     ///< named by the user or the framework, no operator
  bool writes = false;                       ///< to one of its operands
  bool is_kernel = false;                    ///< that a compiler made (Triton)
  std::string dims, types, values, strides;  ///< as Operands has them; empty if there are none
  std::vector<TracedTensor> inputs, outputs;
  std::optional<ObservedCollective> collective = {};
};

struct ExecutionTrace {
  std::string file;  ///< as the user named it
  std::string schema;
  std::vector<TracedNode> nodes;            ///< in the order of their starts
  std::map<std::string, RankGroup> groups;  ///< of ranks, by name
  std::uint64_t kernels = 0;                ///< nodes that a tool added from a profile; left out
  std::uint64_t missing_parents = 0;        ///< nodes whose parent is not in the file
};

/// Reads a file, plain or compressed by gzip. Throws FileError, or InputError with the byte or the node if it
/// is no such trace, is cut off, or has values of other types.
ExecutionTrace read_execution_trace(const std::filesystem::path& file);

}  // namespace trainyard
