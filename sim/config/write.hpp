#pragma once
// Writes a struct with a key table as YAML that reads back to an equal value, to the same bits: for
// experiment.resolved.yaml. Defaults are written out; only empty optionals are left out.

#include "config/document.hpp"
#include "config/fields.hpp"
#include "config/keys.hpp"
#include "units/text.hpp"

#include <map>
#include <string>
#include <string_view>

namespace trainyard::config {

/// YAML text of a tree: block mappings, lists of scalars in one line, strings quoted if necessary. Strings
/// must be UTF-8 without control characters, which readers refuse.
std::string emit(const Node& node);

/// The values of a tree by path, in emit()'s form: scalars and lists of scalars.
std::map<std::string, std::string> values_by_path(const Node& node);

Node text_node(std::string text);
Node plain_node(std::string text);

template <class T>
Node to_node(const T& value);

template <class T, class Field>
void add_key(Node& mapping, const Key<T, Field>& key, const T& value) {
  const Field& field = value.*key.member;
  if constexpr (is_optional<Field>) {
    if (!field.has_value()) return;
  }
  mapping.entries.push_back({std::string(key.name), {}, to_node(field)});
}

/// The tree of any field type of keys.hpp.
template <class T>
Node to_node(const T& value) {
  if constexpr (is_sourced<T>) {
    if (value.provenance == Provenance::unstated) return to_node(value.value);
    Node node = make_node(Node::Kind::mapping);
    node.entries.push_back({"value", {}, to_node(value.value)});
    const auto index = static_cast<std::size_t>(value.provenance);
    node.entries.push_back({std::string(provenance_keys.at(index)), {}, text_node(value.source)});
    return node;
  } else if constexpr (is_optional<T>) {
    return value.has_value() ? to_node(*value) : Node{};
  } else if constexpr (is_list<T>) {
    Node node = make_node(Node::Kind::sequence);
    for (const auto& item : value) node.items.push_back(to_node(item));
    return node;
  } else if constexpr (is_map<T>) {
    Node node = make_node(Node::Kind::mapping);
    for (const auto& [key, item] : value) node.entries.push_back({key, {}, to_node(item)});
    return node;
  } else if constexpr (HasNames<T>) {
    return text_node(std::string(name_of(value)));
  } else if constexpr (HasKeys<T>) {
    Node node = make_node(Node::Kind::mapping);
    Keys<T>::table()([&](const auto&... key) { (add_key(node, key, value), ...); });
    return node;
  } else if constexpr (std::same_as<T, std::string>) {
    return text_node(value);
  } else if constexpr (std::same_as<T, bool>) {
    return plain_node(value ? "true" : "false");
  } else if constexpr (std::same_as<T, double>) {
    return plain_node(shortest(value));
  } else if constexpr (is_quantity<T>) {
    return plain_node(exact(value));
  } else {
    return plain_node(std::to_string(value));
  }
}

/// The value as YAML text. A source in it must not be empty: the reader rejects that.
template <HasKeys T>
std::string write(const T& value) {
  return emit(to_node(value));
}

}  // namespace trainyard::config
