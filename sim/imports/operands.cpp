#include "imports/operands.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

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

std::optional<double> bytes_of_type(std::string_view type) {
  std::string small;
  for (const char c : type) small += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  constexpr std::string_view prefix = "c10::";
  if (small.starts_with(prefix)) small.erase(0, prefix.size());
  constexpr std::pair<std::string_view, double> sizes[] = {{"float", 4},
                                                           {"double", 8},
                                                           {"half", 2},
                                                           {"bfloat16", 2},
                                                           {"int", 4},
                                                           {"long", 8},
                                                           {"long int", 8},
                                                           {"byte", 1},
                                                           {"char", 1},
                                                           {"bool", 1},
                                                           {"unsigned char", 1},
                                                           {"signed char", 1},
                                                           {"float8_e4m3fn", 1},
                                                           {"float8_e5m2", 1},
                                                           {"float8_e4m3fnuz", 1},
                                                           {"float8_e5m2fnuz", 1},
                                                           {"short", 2},
                                                           {"short int", 2}};
  const auto* const found = std::ranges::find(sizes, small, &std::pair<std::string_view, double>::first);
  return found == std::end(sizes) ? std::nullopt : std::optional(found->second);
}

}  // namespace trainyard
