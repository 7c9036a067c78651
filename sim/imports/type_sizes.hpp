#pragma once
// Sizes of the types that profiles name.

#include <optional>
#include <string_view>

namespace trainyard {

/// The number of bytes of a value by its type's name in any of PyTorch's spellings: "Float", "c10::Half",
/// "long int". Nothing if it is unknown.
std::optional<double> bytes_of_type(std::string_view type);

}  // namespace trainyard
