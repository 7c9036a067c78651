#pragma once
// XML as our own tree, with lines and with limits. Only xml.cpp uses pugixml.

#include "interchange/input_text.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  ///< its own, without that of its children
  std::vector<XmlElement> children;
  int line = 0;

  /// The value of an attribute; empty if there is none.
  [[nodiscard]] std::string_view attribute(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// The first child with this name, or null.
  [[nodiscard]] const XmlElement* child(std::string_view name) const;
  /// The text at "a/b/c"; empty if there is none.
  [[nodiscard]] std::string_view text_at(std::string_view path) const;
};

/// Elements deeper than this are an error: no format of this folder has them.
inline constexpr int deepest_xml = 64;
inline constexpr int most_xml_elements = 500'000;
inline constexpr std::size_t most_xml_attributes = 64;

/// The root element. Entities that a document declares are not expanded, and nothing else is loaded. Throws
/// InputError with the line.
XmlElement parse_xml(const InputText& input);

/// The name of the root element of a text that looks like XML, without parsing it; empty for other text.
std::string root_of_xml(std::string_view text);

}  // namespace trainyard
