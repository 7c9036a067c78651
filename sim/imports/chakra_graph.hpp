#pragma once
// An execution trace of Chakra as it was read: nodes and their dependencies.

#include "imports/chakra_schema.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name = {};
  chakra::NodeType type = chakra::NodeType::invalid;
  std::vector<std::uint64_t> control_parents = {}, data_parents = {};
  std::uint64_t start_us = 0, duration_us = 0;
  std::optional<std::uint64_t> duration_ns = {};  ///< in traces of ours
  std::optional<std::string> phase = {};          ///< in traces of ours
  std::optional<bool> is_cpu_op = {};
  std::optional<std::uint64_t> comm_type = {}, comm_size = {}, num_ops = {}, tensor_size = {};
  std::optional<std::string> group = {};
};

struct ChakraGraph {
  std::string file;    ///< as the user named it
  std::string schema;  ///< empty if the file does not say it, as in 2023
  std::vector<ChakraNode> nodes;
};

/// Reads messages behind their lengths, or the JSON variant, plain or compressed by gzip. Throws FileError,
/// or InputError with the byte if the file is no such trace, is cut off, or has two nodes of the same id.
ChakraGraph read_chakra(const std::filesystem::path& file);

}  // namespace trainyard
