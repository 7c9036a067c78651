// Words for keys, and the search for words in lists.

#include "commands/word_search.hpp"
#include "config/fields.hpp"
#include "config/glossary.hpp"
#include "experiment/experiment.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/known_keys.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <string_view>

using namespace trainyard;

namespace {

bool is_key_of_the_top(std::string_view word) {
  return config::Keys<Experiment>::table()(
      [&](const auto&... key) { return (config::is_same_word(key.name, word) || ...); });
}

}  // namespace

TEST_CASE(
    "every word of the glossary is about a key that exists; those that are the same are accepted as it") {
  int words = 0;
  for (const config::OtherWord& other : config::glossary) {
    const std::string word(other.word);
    CAPTURE(word);
    CHECK(!is_key_of_the_top(word));
    // advice begins with a key: "parallelism.shard=optimizer", "attention: flash"
    const std::string key(other.key.substr(0, other.key.find_first_of("=:, ")));
    CAPTURE(key);
    const bool is_of_family = key.starts_with("model.");
    CHECK((is_of_family || unknown_experiment_key(key).message.empty()));
    if (!other.is_same) continue;
    CHECK(other.key == key);
    CHECK(key_meant(word) == key);
    constexpr std::string_view block = "parallelism.";
    if (key.starts_with(block)) CHECK(key_meant(std::string(block) + word) == key);
    ++words;
  }
  CHECK(words > 185);
  CHECK(!unknown_experiment_key("no_such_key").message.empty());
  CHECK(key_meant("parallelism.batch") == "parallelism.batch");
}

TEST_CASE("no word of the glossary means two keys") {
  for (const config::OtherWord& one : config::glossary) {
    if (!one.is_same) continue;
    CAPTURE(std::string(one.word));
    CHECK(std::ranges::count_if(config::glossary, [&](const config::OtherWord& other) {
            return config::is_same_word(one.word, other.word);
          }) == 1);
  }
}

TEST_CASE("a pattern is found from the beginning of a word, in any case, with any separator") {
  CHECK(has_word("ring all-reduce", "ring"));
  CHECK(!has_word("during the step", "ring"));
  CHECK(has_word("during: a ring", "RING"));
  CHECK(!has_word("rtx3090", "3090"));
  CHECK(has_word("rtx_3090", "3090"));
  CHECK(has_word("gradient accumulation", "gradient_accumulation"));
  CHECK(has_word("one straggler", "stragglers"));
  CHECK(!has_word("a bus", "bass"));
  CHECK(!has_word("", "a"));
  CHECK(has_word("anything", ""));
  CHECK(has_all_words("NVIDIA DGX H100, eight GPUs", "h100 dgx"));
  CHECK(has_all_words("NVIDIA DGX H100, eight GPUs", "H100-DGX"));
  CHECK(!has_all_words("NVIDIA DGX H100, eight GPUs", "h100 hgx"));
  CHECK(has_all_words("anything", ""));
}
