#pragma once
// Reads a YAML document into plain structs through their key tables (keys.hpp). All errors of a document are
// found before one InputError is thrown; code that does not depend on the type is in read.cpp.

#include "config/document.hpp"
#include "config/fields.hpp"
#include "config/keys.hpp"
#include "config/problems.hpp"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// The reader's position in the document.
struct Reader {
  const Document& document;
  Problems& problems;
  std::string path = {};
};

/// One step down the tree, undone at the end of the scope.
class Step {
public:
  Step(Reader& reader, std::string_view key);
  Step(Reader& reader, std::size_t index);
  ~Step() { reader_.path.resize(length_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

private:
  Reader& reader_;
  std::size_t length_;
};

// Each function reports errors of `node` and then leaves `value` unchanged, or returns false or empty.
void read_scalar(Reader& reader, const Node& node, const Range& range, bool& value);
void read_scalar(Reader& reader, const Node& node, const Range& range, int& value);
void read_scalar(Reader& reader, const Node& node, const Range& range, long long& value);
void read_scalar(Reader& reader, const Node& node, const Range& range, double& value);
void read_scalar(Reader& reader, const Node& node, const Range& range, std::string& value);
template <class Q>
requires is_quantity<Q>
void read_scalar(Reader& reader, const Node& node, const Range& range, Q& value);
/// Reports that the node is none of `names`; their kind is for the message. `other_words`: advice on some
/// other names.
void refuse_choice(Reader& reader, const Node& node, std::span<const std::string_view> names,
                   std::string_view what, std::span<const OtherWord> other_words = {});
/// The hint for an unknown name of an enum.
std::string choice_hint(std::string_view word, std::span<const std::string_view> names,
                        std::span<const OtherWord> other_words);
/// The hint for an unknown key in the mapping `path`: the key that is called so, or a name like it, or all
/// names.
std::string key_hint(std::string_view word, std::string_view path, std::span<const std::string_view> names,
                     std::span<const OtherWord> other_words);
/// True if `node` is a mapping; reports its unknown keys and missing required ones. `other_words`: users'
/// words for some keys.
bool open_mapping(Reader& reader, const Node& node, std::span<const KeyInfo> keys,
                  std::span<const OtherWord> other_words = {});
/// The mapping that `node` is short for, in which it is the value of `keys`: Keys::short_form.
Node written_out(const Node& node, std::span<const std::string_view> keys);
/// The mapping that a text is short for, whose only key it is: Keys::names_key.
Node key_alone(const Node& node);
/// True if `node` is a mapping, with any keys.
bool open_map(Reader& reader, const Node& node);
/// True if `node` is a list.
bool open_list(Reader& reader, const Node& node);
/// Reads {value: X, measured: "source"} except X, whose node it returns (null if missing).
const Node* open_sourced(Reader& reader, const Node& node, Provenance& provenance, std::string& source);

template <class T>
void read_node(Reader& reader, const Node& node, const Range& range, T& value);

/// Whether `--set KEY=none` leaves out a key of this type. Not where "none" is one of its names, nor where a
/// text names a file and has a default, which is not none.
template <class T>
constexpr bool may_be_unset() {
  if constexpr (is_optional<T>)
    return std::same_as<typename T::value_type, std::string> || may_be_unset<typename T::value_type>();
  else if constexpr (HasNames<T>)
    return !value_named<T>(unset_text);
  else
    return !std::same_as<T, std::string>;
}

template <class T, class Field>
void read_key(Reader& reader, const Node& mapping, const Key<T, Field>& key, T& value) {
  const Node* node = mapping.find(key.name);
  if (node == nullptr) return;
  if (may_be_unset<Field>() && !key.is_required && is_unset(*node)) return;
  const Step step(reader, key.name);
  read_node(reader, *node, key.range, value.*key.member);
}

/// Whether a value of T stands in its short form.
template <HasKeys T>
bool is_short(const Node& node) {
  if constexpr (NamesKey<T>) return node.kind == Node::Kind::scalar;
  if constexpr (HasShortForm<T>) return node.kind == Node::Kind::scalar || node.kind == Node::Kind::sequence;
  return false;
}

template <HasKeys T>
void read_keys(Reader& reader, const Node& node, T& value) {
  if (is_short<T>(node)) {
    if constexpr (NamesKey<T>) read_keys(reader, key_alone(node), value);
    if constexpr (HasShortForm<T>) read_keys(reader, written_out(node, Keys<T>::short_form), value);
    return;
  }
  Keys<T>::table()([&](const auto&... key) {
    const std::array<KeyInfo, sizeof...(key)> infos{KeyInfo{key.name, key.is_required}...};
    std::span<const OtherWord> other_words;
    if constexpr (HasOtherWords<T>) other_words = Keys<T>::other_words;
    if (open_mapping(reader, node, infos, other_words)) (read_key(reader, node, key, value), ...);
  });
}

template <class T>
void read_sourced(Reader& reader, const Node& node, const Range& range, Sourced<T>& sourced) {
  const bool own_mapping = (HasKeys<T> || is_map<T>)&&node.find("value") == nullptr;
  if (node.kind != Node::Kind::mapping || own_mapping) {
    read_node(reader, node, range, sourced.value);
    return;
  }
  const Node* value = open_sourced(reader, node, sourced.provenance, sourced.source);
  if (value == nullptr) return;
  const Step step(reader, "value");
  read_node(reader, *value, range, sourced.value);
}

/// Reads `node` into `value`, for any field type of keys.hpp.
template <class T>
void read_node(Reader& reader, const Node& node, const Range& range, T& value) {
  if constexpr (is_sourced<T>) {
    read_sourced(reader, node, range, value);
  } else if constexpr (is_optional<T>) {
    read_node(reader, node, range, value.emplace());
  } else if constexpr (is_list<T>) {
    value.clear();
    if (!open_list(reader, node)) return;
    value.reserve(node.items.size());
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const Step step(reader, i);
      typename T::value_type item{};
      read_node(reader, node.items[i], range, item);
      value.push_back(std::move(item));
    }
  } else if constexpr (is_map<T>) {
    value.clear();
    if (!open_map(reader, node)) return;
    for (const Node::Entry& entry : node.entries) {
      const Step step(reader, entry.key);
      typename Mapped<T>::Type item{};
      read_node(reader, entry.value, range, item);
      value.insert(value.end(), {entry.key, std::move(item)});
    }
  } else if constexpr (HasNames<T>) {
    static constexpr auto names = texts_of<T>();
    const auto known = value_named<T>(node.scalar);  // a list or a mapping has an empty scalar
    std::span<const OtherWord> other_words;
    if constexpr (HasOtherNames<T>) other_words = Names<T>::other_words;
    if (known)
      value = *known;
    else
      refuse_choice(reader, node, names, Names<T>::what, other_words);
  } else if constexpr (HasKeys<T>) {
    read_keys(reader, node, value);
  } else {
    static_assert(PlainScalar<T>, "a field needs Keys, Names or one of the types listed in keys.hpp");
    read_scalar(reader, node, range, value);
  }
}

/// The document as a T. `validate` gets the complete value, also if parts could not be read (those keep their
/// defaults: call Problems::readable before using one), so that all errors are reported at once. Warnings are
/// appended to `warnings`. Throws one InputError with every problem.
template <HasKeys T>
T read(const Document& document, const std::function<void(const T&, Problems&)>& validate = {},
       std::vector<Diagnostic>* warnings = nullptr) {
  Problems problems(document);
  Reader reader{document, problems};
  T value{};
  read_keys(reader, document.root, value);
  if (validate) validate(value, problems);
  problems.finish(warnings);
  return value;
}

}  // namespace trainyard::config
