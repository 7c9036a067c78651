#pragma once
// The keys that --set takes: those of an experiment, and with a prefix those of the files it names.

#include "config/catalogue.hpp"
#include "config/key_list.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A kind of file, and the prefix of its keys: "platform."; empty for the experiment itself.
struct KeyGroup {
  config::Kind kind;
  std::string_view prefix;
  std::string_view title;  ///< "the platform's file"
};

/// The groups in the order of a list for people.
const std::vector<KeyGroup>& key_groups();

/// The group that a path belongs to, by its first word.
const KeyGroup& group_of(std::string_view path);

/// The keys of one group, with their prefix.
std::vector<config::ListedKey> keys_of(const KeyGroup& group);

/// The words of the glossary that are the same as a key.
std::vector<std::string_view> other_words_for(std::string_view path);

/// Throws InputError if a path is no such key.
void require_known_keys(const std::vector<std::string>& paths);

}  // namespace trainyard
