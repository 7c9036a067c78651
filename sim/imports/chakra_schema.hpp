#pragma once
// The numbers and names of Chakra's execution traces, for their reader and their writer. Source:
// mlcommons/chakra schema/protobuf/et_def.proto and src/feeder/et_feeder_node.cpp, which says the types of
// attributes.

#include "collectives/operation.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard::chakra {

inline constexpr std::string_view schema_version = "0.0.4";

/// Fields of GlobalMetadata.
enum class MetadataField : std::uint32_t { version = 1, attribute = 2 };

/// Fields of Node.
enum class NodeField : std::uint32_t {
  id = 1,
  name = 2,
  type = 3,
  control_parents = 4,
  data_parents = 5,
  start_us = 6,
  duration_us = 7,
  attribute = 10
};

/// Fields of AttributeProto: a name, and one of the values.
enum class AttributeField : std::uint32_t { name = 1, int64 = 9, uint64 = 13, truth = 27, text = 29 };

enum class NodeType : std::uint8_t {
  invalid = 0,
  metadata = 1,
  memory_load = 2,
  memory_store = 3,
  compute = 4,
  send = 5,
  receive = 6,
  collective = 7
};
inline constexpr std::uint64_t last_node_type = 7;

/// `comm_size` counts bytes of a rank: of an all-gather and a gather those that it gives, not those that are
/// there at the end. Source: astra-sim/astra-sim astra-sim/system/collective/Ring.cc.
inline constexpr std::string_view is_cpu_op = "is_cpu_op", num_ops = "num_ops", tensor_size = "tensor_size",
                                  comm_type = "comm_type", comm_size = "comm_size", pg_name = "pg_name";
/// Attributes of ours, which other readers keep without a meaning: the schema's durations are whole us.
inline constexpr std::string_view duration_ns = "duration_ns", phase = "phase";

/// CollectiveCommType of an operation (mlcommons/chakra, schema/protobuf/et_def.proto); none for send_recv,
/// which is none there.
constexpr std::optional<std::uint64_t> type_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return 0;
    case Operation::reduce:
      return 1;
    case Operation::all_gather:
      return 2;
    case Operation::broadcast:
      return 5;
    case Operation::all_to_all:
      return 6;
    case Operation::reduce_scatter:
      return 7;
    case Operation::gather:
      return 3;
    case Operation::scatter:
      return 4;
    case Operation::send_recv:
      break;
  }
  return std::nullopt;
}

/// The operation of a CollectiveCommType; none for those that we do not have, such as barriers.
constexpr std::optional<Operation> operation_of(std::uint64_t type) {
  for (const Operation one :
       {Operation::all_reduce, Operation::reduce, Operation::all_gather, Operation::broadcast,
        Operation::all_to_all, Operation::reduce_scatter, Operation::gather, Operation::scatter}) {
    if (type_of(one) == type) return one;
  }
  return std::nullopt;
}

/// Whether `comm_size` is one rank's part of our size.
constexpr bool counts_part(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::gather;
}

}  // namespace trainyard::chakra
