#include "units/control_characters.hpp"

#include <cstddef>
#include <doctest/doctest.h>
#include <string>

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

TEST_CASE("plain ASCII has no control character and no byte above 127, wherever it stands") {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 19; ++at) {
      for (const char around : {'a', '\n', ' ', '~'}) {
        std::string text(19, around);
        text[at] = static_cast<char>(byte);
        INFO("byte ", byte, " at ", at);
        CHECK(is_plain_ascii(text) == (byte < 128 && !find_control(text)));
      }
    }
  }
  CHECK(is_plain_ascii(""));
}

TEST_CASE("each control character is shown as one question mark") {
  CHECK(without_controls("a\x1b[0m\u009b\nb\x07") == "a?[0m?\nb?");
  CHECK(without_controls("plain") == "plain");
}
