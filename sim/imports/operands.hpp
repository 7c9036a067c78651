#pragma once
// The operands of an op as Kineto writes them: shapes, types and what is no tensor, each a list of JSON.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

using TensorShape = std::vector<double>;

/// The shape of each operand, empty for what is no tensor; a list of tensors has a shape for each of its
/// tensors. Nothing if the text is no such list.
std::optional<std::vector<std::vector<TensorShape>>> operand_shapes(std::string_view json);

/// The texts of a list of texts; nothing if the text is no such list.
std::optional<std::vector<std::string>> operand_texts(std::string_view json);

/// Product of the sizes of a shape.
double values_of(const TensorShape& shape);

/// The number of bytes of a value by its type's name in any of PyTorch's spellings: "Float", "c10::Half",
/// "long int". Nothing if it is unknown.
std::optional<double> bytes_of_type(std::string_view type);

}  // namespace trainyard
