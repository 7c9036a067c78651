// Words for keys, and the search for words in lists.

#include "cli/experiment_keys.hpp"
#include "commands/word_search.hpp"
#include "experiment/experiment.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/known_keys.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("every other word for a key that --set takes is a key that exists") {
  int words = 0;
  for (const config::OtherWord& other : config::Keys<Experiment>::other_words) {
    if (!other.is_same) continue;
    const std::string word(other.word);
    CAPTURE(word);
    const std::string key = key_meant(word);
    CHECK((is_total(key) || unknown_experiment_key(key).message.empty()));
    ++words;
  }
  CHECK(words > 40);
  for (const config::ListedKey& total : total_keys()) CHECK(is_total(total.path));
  CHECK(!unknown_experiment_key("no_such_key").message.empty());
  for (const config::OtherWord& other : config::words_of_parallelism) {
    if (!other.is_same) continue;
    CAPTURE(std::string(other.word));
    CHECK(key_meant("parallelism." + std::string(other.word)) == other.key);
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
