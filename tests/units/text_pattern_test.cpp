#include "units/text_pattern.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a pattern finds all of a text, a first match, or every match, with groups") {
  const TextPattern pair("([a-z])=(\\d+)(x)?");
  CHECK(pair.whole("a=1") == TextPattern::Match{"a=1", "a", "1", ""});
  CHECK_FALSE(pair.whole("a=1, b=2"));
  CHECK(pair.first("no, b=2, c=3x") == TextPattern::Match{"b=2", "b", "2", ""});
  CHECK_FALSE(pair.first("nothing"));
  CHECK(pair.all("b=2, c=3x") ==
        std::vector<TextPattern::Match>{{"b=2", "b", "2", ""}, {"c=3x", "c", "3", "x"}});
  CHECK(pair.all("nothing").empty());
  CHECK(pair.replaced("b=2, c=3x.", "-") == "-, -.");
}
