#pragma once
// JSON Schema (draft 2020-12) of a struct with a key table, for editors: names, meanings, units, bounds and
// defaults come from the table that the reader uses. The tree of shapes keeps this template small; schema.cpp
// turns it into JSON.

#include "config/fields.hpp"
#include "config/keys.hpp"
#include "config/write.hpp"
#include "units/text.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// A field type as data.
struct Shape {
  enum class Kind { text, boolean, integer, number, quantity, choice, list, map, mapping, reference };
  struct Key;
  struct Choice {
    std::string_view text;
    std::string_view doc;
    bool is_offered = true;  ///< not another spelling of a name
  };

  Kind kind = Kind::text;
  bool is_sourced = false;
  Range range;                               ///< for integers, numbers and quantities
  std::string_view what;                     ///< for quantities and choices: the kind, in words
  std::string_view example;                  ///< for quantities
  std::string (*show)(double) = nullptr;     ///< for quantities: a bound as text with a unit
  std::string pattern;                       ///< for quantities
  std::vector<Choice> choices;               ///< for choices
  std::vector<Shape> element;                ///< for lists and maps: exactly one
  std::vector<Key> keys;                     ///< for mappings
  std::vector<std::string_view> short_form;  ///< for mappings: keys that a single value sets
  std::span<const OtherWord> other_words;    ///< for mappings: users' words for a key
  std::span<const OtherWord> other_names;    ///< for choices: names that are none
  bool names_key = false;                    ///< for mappings: a text is a key with an empty mapping
  Shape (*definition)() = nullptr;           ///< for references: the shape of the type
};

struct Shape::Key {
  std::string_view name;
  std::string_view doc;
  bool is_required = false;
  std::optional<Node> default_value;
  Shape shape;
};

/// The schema of a whole document of this shape.
nlohmann::ordered_json schema(const Shape& shape, std::string_view title);

template <class T>
Shape shape_of(const Range& range);

template <class T, class Field>
Shape::Key key_shape(const Key<T, Field>& key, const T& defaults) {
  Shape::Key result;
  result.name = key.name;
  result.doc = key.doc;
  result.is_required = key.is_required;
  result.shape = shape_of<Field>(key.range);
  if (!key.is_required) {
    Node value = to_node(defaults.*key.member);
    if (value.kind != Node::Kind::null) result.default_value = std::move(value);
  }
  return result;
}

template <HasKeys T>
Shape mapping_shape() {
  Shape shape;
  shape.kind = Shape::Kind::mapping;
  if constexpr (HasShortForm<T>)
    shape.short_form.assign(Keys<T>::short_form.begin(), Keys<T>::short_form.end());
  if constexpr (HasOtherWords<T>) shape.other_words = Keys<T>::other_words;
  shape.names_key = NamesKey<T>;
  const T defaults{};
  Keys<T>::table()([&](const auto&... key) { (shape.keys.push_back(key_shape(key, defaults)), ...); });
  return shape;
}

template <class T>
Shape shape_of(const Range& range) {
  Shape shape;
  shape.range = range;
  if constexpr (is_sourced<T>) {
    shape = shape_of<decltype(T::value)>(range);
    shape.is_sourced = true;
  } else if constexpr (is_optional<T>) {
    return shape_of<typename T::value_type>(range);
  } else if constexpr (is_list<T>) {
    shape.kind = Shape::Kind::list;
    shape.element.push_back(shape_of<typename T::value_type>(range));
  } else if constexpr (is_map<T>) {
    shape.kind = Shape::Kind::map;
    shape.element.push_back(shape_of<typename Mapped<T>::Type>(range));
  } else if constexpr (HasNames<T>) {
    shape.kind = Shape::Kind::choice;
    shape.what = Names<T>::what;
    for (const auto& name : Names<T>::table)
      shape.choices.push_back({name.text, name.doc, name_of(name.value) == name.text});
    if constexpr (HasOtherNames<T>) shape.other_names = Names<T>::other_words;
  } else if constexpr (HasDefinition<T>) {
    shape.kind = Shape::Kind::reference;
    shape.what = Keys<T>::definition;
    shape.definition = mapping_shape<T>;
  } else if constexpr (HasKeys<T>) {
    return mapping_shape<T>();
  } else if constexpr (is_quantity<T>) {
    shape.kind = Shape::Kind::quantity;
    shape.what = quantity_name<T>();
    shape.example = quantity_example<T>();
    shape.show = [](double si) { return exact(T(si)); };
    shape.pattern = quantity_pattern<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    shape.kind = Shape::Kind::text;
  } else if constexpr (std::same_as<T, bool>) {
    shape.kind = Shape::Kind::boolean;
  } else if constexpr (std::same_as<T, double>) {
    shape.kind = Shape::Kind::number;
  } else {
    static_assert(PlainScalar<T>, "a field needs Keys, Names or one of the types listed in keys.hpp");
    shape.kind = Shape::Kind::integer;
  }
  return shape;
}

/// JSON Schema of the YAML document of a T.
template <HasKeys T>
nlohmann::ordered_json schema(std::string_view title) {
  return schema(shape_of<T>({}), title);
}

}  // namespace trainyard::config
