#include "config/schema.hpp"

#include "config/assumed_values.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace trainyard::config {

namespace {

using nlohmann::ordered_json;

/// A default as JSON: quantities stay text with a unit, as the schema types them.
ordered_json json_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::sequence: {
      ordered_json list = ordered_json::array();
      for (const Node& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case Node::Kind::mapping: {
      ordered_json object = ordered_json::object();
      for (const Node::Entry& entry : node.entries) object[entry.key] = json_of(entry.value);
      return object;
    }
    case Node::Kind::scalar:
      break;
  }
  if (node.quoted) return node.scalar;
  if (node.scalar == "true" || node.scalar == "false") return node.scalar == "true";
  if (const auto whole = parse_integer(node.scalar)) return *whole;
  if (const auto number = parse_number(node.scalar)) return *number;
  return node.scalar;
}

/// A bound as JSON: 1 rather than 1.0.
ordered_json number_json(double bound) { return json_of(plain_node(shortest(bound))); }

void add_range(ordered_json& json, const Range& range) {
  if (range.minimum)
    json[range.minimum_excluded ? "exclusiveMinimum" : "minimum"] = number_json(*range.minimum);
  if (range.maximum) json["maximum"] = number_json(*range.maximum);
}

/// JSON Schema cannot check the bounds of a quantity in text, so they are described in words.
std::string range_words(const Shape& shape) {
  const Range& range = shape.range;
  std::string words;
  if (range.minimum)
    words += (range.minimum_excluded ? "; above " : "; at least ") + shape.show(*range.minimum);
  if (range.maximum) words += (words.empty() ? "; at most " : ", at most ") + shape.show(*range.maximum);
  return words;
}

ordered_json json_of(const Shape& shape);

ordered_json mapping_json(const Shape& shape) {
  ordered_json json{{"type", "object"}, {"additionalProperties", false}};
  ordered_json required = ordered_json::array();
  ordered_json properties = ordered_json::object();
  for (const Shape::Key& key : shape.keys) {
    ordered_json property = json_of(key.shape);
    std::string doc(key.doc);
    if (property.contains("description"))
      doc +=
          (doc.empty() ? "" : " (") + property["description"].get<std::string>() + (doc.empty() ? "" : ")");
    if (!doc.empty()) property["description"] = doc;
    if (key.default_value) property["default"] = json_of(*key.default_value);
    if (key.is_required) required.push_back(key.name);
    properties[std::string(key.name)] = std::move(property);
  }
  json["properties"] = std::move(properties);
  if (!required.empty()) json["required"] = std::move(required);
  return json;
}

/// Keys that a text alone may stand for: their value may be an empty mapping.
ordered_json lone_keys(const Shape& shape) {
  ordered_json names = ordered_json::array();
  for (const Shape::Key& key : shape.keys) {
    const bool is_lone = key.shape.kind == Shape::Kind::mapping &&
                         std::ranges::none_of(key.shape.keys, &Shape::Key::is_required);
    if (is_lone) names.push_back(key.name);
  }
  return names;
}

/// A mapping or one of its short forms.
ordered_json mapping_or_short_json(const Shape& shape) {
  const ordered_json mapping = mapping_json(shape);
  if (shape.names_key) return {{"anyOf", {{{"enum", lone_keys(shape)}}, mapping}}};
  if (shape.short_form.empty()) return mapping;
  ordered_json value = mapping["properties"][std::string(shape.short_form.front())];
  value.erase("description");
  value.erase("default");
  ordered_json forms = ordered_json::array({value});
  if (const std::size_t count = shape.short_form.size(); count > 1)
    forms.push_back({{"type", "array"}, {"items", value}, {"minItems", count}, {"maxItems", count}});
  forms.push_back(mapping);
  return {{"anyOf", forms}};
}

ordered_json choice_json(const Shape& shape) {
  ordered_json json{{"type", "string"}, {"enum", ordered_json::array()}};
  std::string words(shape.what);
  for (const Shape::Choice& choice : shape.choices) {
    json["enum"].push_back(choice.text);
    if (!choice.is_offered && choice.doc.empty()) continue;
    words.append(&choice == &shape.choices.front() ? ": " : "; ").append(choice.text);
    if (!choice.doc.empty()) words.append(" = ").append(choice.doc);
  }
  json["description"] = words;
  return json;
}

ordered_json bare_json(const Shape& shape) {
  switch (shape.kind) {
    // Our reader also accepts other plain scalars as text (name: 2080, date: 2018-03, set: {stack.overlap:
    // false}).
    case Shape::Kind::text:
      return {{"type", {"string", "number", "boolean"}}};
    case Shape::Kind::boolean:
      return {{"type", "boolean"}};
    case Shape::Kind::integer:
    case Shape::Kind::number: {
      ordered_json json{{"type", shape.kind == Shape::Kind::integer ? "integer" : "number"}};
      add_range(json, shape.range);
      return json;
    }
    case Shape::Kind::quantity:
      return {{"type", "string"},
              {"pattern", shape.pattern},
              {"description", std::string(shape.what) + " with its unit, for example " +
                                  std::string(shape.example) + range_words(shape)}};
    case Shape::Kind::choice:
      return choice_json(shape);
    case Shape::Kind::list:
      return {{"type", "array"}, {"items", json_of(shape.element.at(0))}};
    case Shape::Kind::map:
      return {{"type", "object"}, {"additionalProperties", json_of(shape.element.at(0))}};
    case Shape::Kind::mapping:
      return mapping_or_short_json(shape);
    case Shape::Kind::reference:
      return {{"$ref", "#/$defs/" + std::string(shape.what)}};
  }
  return {};
}

/// A plain value, or one with a statement of its source; an assumed number also with its range. That there is
/// one source, and a range only next to `assumed`, is left to the reader: in JSON Schema it takes ten lines
/// for each key.
ordered_json sourced_json(ordered_json value, bool is_number) {
  ordered_json json = ordered_json::object();
  if (value.contains("description")) json["description"] = value["description"];
  value.erase("description");
  ordered_json with_source{{"type", "object"},
                           {"additionalProperties", false},
                           {"properties", {{"value", value}}},
                           {"required", {"value"}},
                           {"minProperties", 2},
                           {"maxProperties", 2}};
  for (const std::string_view key : provenance_keys) {
    if (!key.empty()) with_source["properties"][std::string(key)] = {{"type", "string"}, {"minLength", 1}};
  }
  if (is_number) {
    with_source["properties"][std::string(assumed_range_key)] = {{"type", "string"}};
    with_source["maxProperties"] = 3;
  }
  json["anyOf"] = {value, with_source};
  return json;
}

ordered_json json_of(const Shape& shape) {
  ordered_json json = bare_json(shape);
  if (!shape.is_sourced) return json;
  constexpr Shape::Kind numbers[] = {Shape::Kind::integer, Shape::Kind::number, Shape::Kind::quantity};
  return sourced_json(json, std::ranges::find(numbers, shape.kind) != std::ranges::end(numbers));
}

/// Adds the definitions of all references in a shape.
void add_definitions(ordered_json& definitions, const Shape& shape) {
  if (shape.kind == Shape::Kind::reference && !definitions.contains(shape.what)) {
    const Shape whole = shape.definition();
    definitions[std::string(shape.what)] = json_of(whole);
    add_definitions(definitions, whole);
  }
  for (const Shape& element : shape.element) add_definitions(definitions, element);
  for (const Shape::Key& key : shape.keys) add_definitions(definitions, key.shape);
}

}  // namespace

ordered_json schema(const Shape& shape, std::string_view title) {
  ordered_json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  json.update(json_of(shape));
  ordered_json definitions = ordered_json::object();
  add_definitions(definitions, shape);
  if (!definitions.empty()) json["$defs"] = std::move(definitions);
  return json;
}

}  // namespace trainyard::config
