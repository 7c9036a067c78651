#include "experiment/own_words.hpp"

#include "config/diagnostic.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/overrides.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

using config::Node;

Node::Entry* entry_of(Node& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.entries, key, &Node::Entry::key);
  return found == mapping.entries.end() ? nullptr : &*found;
}

/// A mapping below another, which is made if there is none or an empty value ("parallelism: none").
Node& below(Node& mapping, std::string_view key, config::Mark mark) {
  if (Node::Entry* const known = entry_of(mapping, key)) {
    const bool is_empty = known->value.kind == Node::Kind::null || known->value.scalar == "none";
    if (is_empty) known->value = config::make_node(Node::Kind::mapping, mark);
    return known->value;
  }
  mapping.entries.push_back({std::string(key), mark, config::make_node(Node::Kind::mapping, mark)});
  return mapping.entries.back().value;
}

class OwnKeys {
public:
  OwnKeys(config::Document& document, std::vector<std::string>& notes) : document_(document), notes_(notes) {}

  void replace() {
    replace_in({});
    replace_in("parallelism");
  }

private:
  /// Takes words out of the file or one of its blocks, and puts them where their keys belong.
  void replace_in(const std::string& block) {
    Node* mapping = &document_.root;
    if (!block.empty()) {
      Node::Entry* const entry = entry_of(document_.root, block);
      if (entry == nullptr) return;
      mapping = &entry->value;
    }
    std::vector<std::pair<Node::Entry, std::string>> words;
    std::vector<Node::Entry> kept;
    for (Node::Entry& entry : mapping->entries) {
      const std::string path = config::join(block, entry.key);
      std::string key = key_meant(path);
      if (key == path)
        kept.push_back(std::move(entry));
      else
        words.emplace_back(std::move(entry), std::move(key));
    }
    mapping->entries = std::move(kept);
    for (auto& [entry, key] : words) put(std::move(entry), key);
  }

  void put(Node::Entry word, const std::string& key) {
    Node* mapping = &document_.root;
    std::string_view name = key;
    if (!file_named_by(key).empty()) {
      mapping = &below(*mapping, "set", word.mark);
    } else {
      for (std::size_t end = name.find('.'); end != std::string_view::npos; end = name.find('.')) {
        mapping = &below(*mapping, name.substr(0, end), word.mark);
        name.remove_prefix(end + 1);
      }
    }
    if (entry_of(*mapping, name) != nullptr) refuse(word, key);
    notes_.push_back(fmt::format("'{}' of the experiment is read as '{}'", word.key, key));
    word.key = name;
    mapping->entries.push_back(std::move(word));
  }

  [[noreturn]] void refuse(const Node::Entry& word, const std::string& key) const {
    Diagnostic diagnostic = config::diagnostic_at(
        document_, word.mark, static_cast<int>(word.key.size()),
        fmt::format("'{}' is another word for '{}', which is given, too", word.key, key), "keep one of them");
    diagnostic.key_path = word.key;
    throw InputError({std::move(diagnostic)});
  }

  config::Document& document_;
  std::vector<std::string>& notes_;
};

}  // namespace

config::Document with_own_keys(config::Document document, std::vector<std::string>& notes) {
  OwnKeys(document, notes).replace();
  return document;
}

}  // namespace trainyard
