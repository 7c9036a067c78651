#include "units/control_characters.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE(
    "control characters are those that a terminal obeys: C0, DEL and C1, not line breaks, tabs or other "
    "letters") {
  CHECK_FALSE(find_control(""));
  CHECK_FALSE(find_control("a\n\tb"));
  CHECK_FALSE(find_control("gr\u00fcn \u00a0 \u2028 \U0001F600"));
  CHECK(find_control("a\x1b[31m")->at == 1);
  CHECK(find_control("\x7f")->code == 0x7f);
  const auto c1 = find_control("ab\u009b31m");
  REQUIRE(c1);
  CHECK(c1->at == 2);
  CHECK(c1->size == 2);
  CHECK(c1->code == 0x9b);
  CHECK_FALSE(find_control("\x1b\u009b", 3));
  CHECK_FALSE(find_control("a\xc2"));  // cut off
}

TEST_CASE("each control character is shown as one question mark") {
  CHECK(without_controls("a\x1b[0m\u009b\nb\x07") == "a?[0m?\nb?");
  CHECK(without_controls("plain") == "plain");
}
