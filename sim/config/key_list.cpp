#include "config/key_list.hpp"

#include "config/path.hpp"
#include "config/read.hpp"
#include "config/write.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>
#include <variant>

namespace trainyard::config {
namespace {

std::string bound(const Shape& shape, double value) {
  return shape.show != nullptr ? shape.show(value) : shortest(value);
}

/// ", 1 to 10", ", above 0", ", at most 5"; empty without bounds.
std::string bounds_in_words(const Shape& shape) {
  const auto& [minimum, maximum, is_excluded] = shape.range;
  if (minimum && maximum && !is_excluded)
    return fmt::format(", {} to {}", bound(shape, *minimum), bound(shape, *maximum));
  std::string words;
  if (minimum) words += fmt::format(", {} {}", is_excluded ? "above" : "at least", bound(shape, *minimum));
  if (maximum) words += fmt::format(", at most {}", bound(shape, *maximum));
  return words;
}

std::string form_of(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::text:
      return "text";
    case Shape::Kind::boolean:
      return "true | false";
    case Shape::Kind::integer:
      return "whole number" + bounds_in_words(shape);
    case Shape::Kind::number:
      return "number" + bounds_in_words(shape);
    case Shape::Kind::quantity:
      return fmt::format("{} ({}){}", shape.what, shape.example, bounds_in_words(shape));
    case Shape::Kind::choice: {
      std::vector<std::string_view> names;
      for (const Shape::Choice& choice : shape.choices) {
        if (choice.is_offered) names.push_back(choice.text);
      }
      return fmt::format("{}", fmt::join(names, " | "));
    }
    case Shape::Kind::list:
      return "list of: " + form_of(shape.element.at(0));
    case Shape::Kind::map:
      return "mapping of names to: " + form_of(shape.element.at(0));
    case Shape::Kind::mapping:
      return "mapping";
    case Shape::Kind::reference:
      return fmt::format("mapping ({})", shape.what);
  }
  return {};
}

/// Whether a default is worth a line: not an empty list, mapping or text.
std::string default_text(const std::optional<Node>& value) {
  if (!value) return {};
  if (value->kind == Node::Kind::scalar) return value->scalar;
  if (value->items.empty() && value->entries.empty()) return {};
  std::string text;
  for (const Node& item : value->items) text += (text.empty() ? "" : ", ") + default_text(item);
  return value->kind == Node::Kind::sequence ? fmt::format("[{}]", text) : std::string();
}

/// Further words by which a search finds a key: names of values, their other spellings and their meanings.
std::vector<std::string_view> search_words(const Shape& shape) {
  std::vector<std::string_view> words;
  for (const Shape::Choice& choice : shape.choices) {
    words.push_back(choice.text);
    words.push_back(choice.doc);
  }
  for (const OtherWord& other : shape.other_names) words.push_back(other.word);
  return words;
}

class Listing {
public:
  std::vector<ListedKey> keys;

  void add_mapping(const Shape& shape, const std::string& path) {
    for (const Shape::Key& key : shape.keys)
      add(key, path.empty() ? std::string(key.name) : join(path, key.name));
  }

private:
  void add(const Shape::Key& key, const std::string& path) {
    const Shape& shape = key.shape;
    const bool has_own_value =
        shape.kind != Shape::Kind::mapping || !shape.short_form.empty() || shape.names_key;
    if (has_own_value || shape.keys.empty()) {
      ListedKey listed{path, form_of(shape),     default_text(key.default_value), key.is_required, key.doc,
                       {},   search_words(shape)};
      for (const Shape::Choice& choice : shape.choices) {
        if (choice.is_offered) listed.names.push_back(choice.text);
      }
      keys.push_back(std::move(listed));
    }
    add_below(shape, path);
  }

  void add_below(const Shape& shape, const std::string& path) {
    if (shape.kind == Shape::Kind::mapping) add_mapping(shape, path);
    if (shape.kind == Shape::Kind::list) add_below(shape.element.at(0), path + "[N]");
    if (shape.kind == Shape::Kind::map) add_below(shape.element.at(0), path + ".NAME");
    if (shape.kind != Shape::Kind::reference) return;
    const std::string name(shape.what);
    if (std::ranges::find(open_, name) != open_.end()) return;  // contains itself
    open_.push_back(name);
    add_below(shape.definition(), path);
  }

  std::vector<std::string> open_;
};

}  // namespace

std::vector<ListedKey> list_keys(const Shape& shape, std::string_view prefix) {
  Listing listing;
  listing.add_mapping(shape, {});
  for (ListedKey& key : listing.keys) key.path.insert(0, prefix);
  return std::move(listing.keys);
}

UnknownKey unknown_key(const Shape& root, std::string_view path) {
  auto parsed = parse_path(path);
  if (const auto* error = std::get_if<PathError>(&parsed))
    return {error->message, "a path looks like links[0].bandwidth"};
  Shape shape = root;
  std::string reached;
  for (const PathStep& step : std::get<std::vector<PathStep>>(parsed)) {
    if (shape.kind == Shape::Kind::reference) shape = shape.definition();
    const auto* const name = std::get_if<std::string>(&step);
    if (shape.kind == Shape::Kind::list || shape.kind == Shape::Kind::map) {
      shape = Shape(shape.element.at(0));
    } else if (name != nullptr && shape.kind == Shape::Kind::mapping) {
      const auto key = std::ranges::find(shape.keys, *name, &Shape::Key::name);
      if (key == shape.keys.end()) {
        if (shape.is_sourced && *name == "value") continue;
        std::vector<std::string_view> names;
        for (const Shape::Key& each : shape.keys) names.push_back(each.name);
        return {fmt::format("unknown key '{}'", *name), key_hint(*name, reached, names, shape.other_words)};
      }
      shape = Shape(key->shape);
      reached = join(reached, *name);
    } else if (!shape.is_sourced) {
      return {fmt::format("'{}' has no keys below it", path), {}};
    }
  }
  return {};
}

}  // namespace trainyard::config
