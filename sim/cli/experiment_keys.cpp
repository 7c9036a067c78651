#include "cli/experiment_keys.hpp"

#include "cli/file_kind.hpp"
#include "config/diagnostic.hpp"
#include "config/glossary.hpp"
#include "experiment/known_keys.hpp"
#include "experiment/resolve.hpp"

#include <algorithm>

namespace trainyard {

const std::vector<KeyGroup>& key_groups() {
  using config::Kind;
  static const std::vector<KeyGroup> groups{
      {Kind::experiment, "", "the experiment"},
      {Kind::platform, "platform.", "its platform"},
      {Kind::gpu, "gpu.", "the platform's GPU profile"},
      {Kind::processor, "processor.", "the platform's processor profile"},
      {Kind::model, "model.", "its model"},
      {Kind::stack, "stack.", "its stack"}};
  return groups;
}

std::vector<config::ListedKey> keys_of(const KeyGroup& group) {
  return config::list_keys(shape_of(group.kind), group.prefix);
}

std::vector<std::string_view> other_words_for(std::string_view path) {
  std::vector<std::string_view> words;
  for (const config::OtherWord& other : config::glossary) {
    if (other.is_same && other.key == path) words.push_back(other.word);
  }
  return words;
}

const KeyGroup& group_of(std::string_view path) {
  const std::string_view file = file_named_by(path);
  return *std::ranges::find_if(key_groups(), [&](const KeyGroup& group) {
    return file.empty() ? group.prefix.empty() : group.prefix.starts_with(file);
  });
}

void require_known_keys(const std::vector<std::string>& paths) {
  std::vector<Diagnostic> problems;
  for (const std::string& path : paths) {
    const config::UnknownKey unknown = unknown_experiment_key(path);
    if (unknown.message.empty()) continue;
    Diagnostic problem;
    problem.key_path = path;
    problem.message = unknown.message + (path.find('.') == std::string::npos ? "" : " in '" + path + "'");
    problem.hint = unknown.hint;
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) throw InputError(problems);
}

}  // namespace trainyard
