#pragma once
// Chakra's execution traces as JSON, an object with the array "workload_graph".

#include "imports/chakra_graph.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// `file`: as the user named it. Throws InputError if the text is no JSON, with the byte, or a node lacks its
/// id, name or type. Source of the names: mlcommons/chakra src/feeder/json_node.cpp.
ChakraGraph read_chakra_json(const std::string& file, std::string_view text);

}  // namespace trainyard
