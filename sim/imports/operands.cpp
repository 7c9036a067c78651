#include "imports/operands.hpp"

#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using Json = nlohmann::json;

bool is_shape(const Json& json) {
  if (!json.is_array()) return false;
  for (const Json& size : json) {
    if (!size.is_number()) return false;
  }
  return true;
}

/// A list of JSON; something else if the text is none, or lists nest deeper than operands do.
Json list_in(std::string_view json) {
  constexpr int deepest = 8;
  int depth = 0;
  for (const char c : json) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > deepest) return {};
  }
  return Json::parse(json, nullptr, false);
}

}  // namespace

std::optional<std::vector<std::vector<TensorShape>>> operand_shapes(std::string_view json) {
  const Json list = list_in(json);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::vector<TensorShape>> shapes;
  for (const Json& operand : list) {
    std::vector<TensorShape>& tensors = shapes.emplace_back();
    if (is_shape(operand)) {
      tensors.push_back(operand.get<TensorShape>());
    } else if (operand.is_array()) {
      for (const Json& tensor : operand) {
        if (is_shape(tensor)) tensors.push_back(tensor.get<TensorShape>());
      }
    }
  }
  return shapes;
}

std::optional<std::vector<std::string>> operand_texts(std::string_view json) {
  const Json list = list_in(json);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const Json& one : list) texts.push_back(one.is_string() ? one.get<std::string>() : std::string());
  return texts;
}

double values_of(const TensorShape& shape) {
  double values = 1;
  for (const double size : shape) values *= size;
  return values;
}

}  // namespace trainyard
