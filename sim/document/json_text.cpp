#include "document/json_text.hpp"

#include "units/text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

void append(std::string& text, const Json& value, std::size_t indent);

/// The brackets and their content; `append_item(key, item)` writes one line.
template <class AppendItem>
void append_items(std::string& text, const Json& value, std::size_t indent, char open, char close,
                  const AppendItem& append_item) {
  text += open;
  bool is_first = true;
  for (const auto& [key, item] : value.items()) {
    if (!is_first) text += ',';
    is_first = false;
    text += '\n';
    text.append(indent + 2, ' ');
    append_item(key, item);
  }
  if (!value.empty()) {
    text += '\n';
    text.append(indent, ' ');
  }
  text += close;
}

void append(std::string& text, const Json& value, std::size_t indent) {
  if (value.is_object()) {
    append_items(text, value, indent, '{', '}', [&](const std::string& key, const Json& item) {
      text += json_quoted(key);
      text += ": ";
      append(text, item, indent + 2);
    });
  } else if (value.is_array()) {
    append_items(text, value, indent, '[', ']',
                 [&](const std::string&, const Json& item) { append(text, item, indent + 2); });
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) throw std::logic_error("a number of the result is not finite");
    text += digits12(number);
  } else if (value.is_string()) {
    text += json_quoted(value.get_ref<const std::string&>());
  } else {
    text += value.dump();
  }
}

}  // namespace

std::string json_text(const Json& value) {
  std::string text;
  append(text, value, 0);
  text += '\n';
  return text;
}

std::string json_quoted(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

nlohmann::ordered_json number_or_null(std::optional<double> number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace trainyard
