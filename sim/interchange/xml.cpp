#include "interchange/xml.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <pugixml.hpp>

namespace trainyard {
namespace {

/// Numbers of lines by offset: a binary search instead of a count from the start for each element.
class Lines {
public:
  explicit Lines(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') ends_.push_back(at);
    }
  }

  [[nodiscard]] int at(std::ptrdiff_t offset) const {
    if (offset < 0) return 0;
    const auto end = std::ranges::lower_bound(ends_, static_cast<std::size_t>(offset));
    return static_cast<int>(end - ends_.begin()) + 1;
  }

private:
  std::vector<std::size_t> ends_;
};

class Copier {
public:
  Copier(const InputText& input, const Lines& lines) : input_(input), lines_(lines) {}

  XmlElement copy(const pugi::xml_node& node, int depth) {
    XmlElement element;
    element.name = node.name();
    element.line = lines_.at(node.offset_debug());
    if (depth > deepest_xml) {
      throw input_error(input_.name, element.line, fmt::format("elements more than {} deep", deepest_xml));
    }
    if (++count_ > most_xml_elements) {
      throw input_error(input_.name, element.line, fmt::format("more than {} elements", most_xml_elements));
    }
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      if (element.attributes.size() >= most_xml_attributes) {
        throw input_error(
            input_.name, element.line,
            fmt::format("<{}> has more than {} attributes", shown(element.name), most_xml_attributes));
      }
      if (element.has(attribute.name())) {
        throw input_error(
            input_.name, element.line,
            fmt::format("<{}> has the attribute {} twice", shown(element.name), shown(attribute.name())));
      }
      element.attributes.emplace_back(attribute.name(), attribute.value());
    }
    element.text = node.text().get();
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() == pugi::node_element) element.children.push_back(copy(child, depth + 1));
    }
    return element;
  }

private:
  const InputText& input_;
  const Lines& lines_;
  int count_ = 0;
};

}  // namespace

std::string_view XmlElement::attribute(std::string_view wanted) const {
  for (const auto& [key, value] : attributes) {
    if (key == wanted) return value;
  }
  return {};
}

bool XmlElement::has(std::string_view wanted) const {
  return std::ranges::any_of(attributes, [&](const auto& one) { return one.first == wanted; });
}

const XmlElement* XmlElement::child(std::string_view wanted) const {
  const auto found = std::ranges::find(children, wanted, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

std::string_view XmlElement::text_at(std::string_view path) const {
  const std::size_t slash = path.find('/');
  const XmlElement* const next = child(path.substr(0, slash));
  if (next == nullptr) return {};
  return slash == std::string_view::npos ? std::string_view(next->text)
                                         : next->text_at(path.substr(slash + 1));
}

XmlElement parse_xml(const InputText& input) {
  const Lines lines(input.text);
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(input.text.data(), input.text.size(),
                           pugi::parse_default | pugi::parse_trim_pcdata, pugi::encoding_utf8);
  if (!result) {
    throw input_error(input.name, lines.at(result.offset),
                      fmt::format("not well-formed XML: {}", result.description()), "is the file complete?");
  }
  const pugi::xml_node root = document.document_element();
  if (root.empty()) throw input_error(input.name, 0, "an XML file without elements");
  for (pugi::xml_node other = root.next_sibling(); !other.empty(); other = other.next_sibling()) {
    if (other.type() == pugi::node_element) {
      throw input_error(input.name, lines.at(other.offset_debug()),
                        fmt::format("a second root element <{}>", shown(other.name())));
    }
  }
  return Copier(input, lines).copy(root, 1);
}

std::string root_of_xml(std::string_view text) {
  for (std::size_t at = text.find_first_not_of(" \t\n"); at < text.size(); at = text.find('<', at)) {
    if (text[at] != '<') return {};
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = text.find("-->", at);
    } else if (rest.starts_with("<?") || rest.starts_with("<!")) {
      at = text.find('>', at);
    } else {
      const std::size_t end = rest.find_first_of(" \t\n/>", 1);
      return std::string(rest.substr(1, end == std::string_view::npos ? end : end - 1));
    }
    if (at == std::string_view::npos) return {};
  }
  return {};
}

}  // namespace trainyard
