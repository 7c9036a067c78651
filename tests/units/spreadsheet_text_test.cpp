#include "units/spreadsheet_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>

using namespace trainyard;

TEST_CASE("text that a spreadsheet would execute gets an apostrophe") {
  for (const char* text : {"=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\r", "=", "-1 us", "--1"}) {
    CAPTURE(text);
    CHECK(with_apostrophes(text) == std::string("'") + text);
  }
  CHECK(with_apostrophes("x,=1+1") == "x,'=1+1");
  CHECK(with_apostrophes("x;@a;b") == "x;'@a;b");
}

TEST_CASE("numbers and all other text stay as they are") {
  for (const char* text :
       {"", "-1", "+1.5e-3", "-1;+2", "conv1", "a=b", "gpu0 -> nic0", "'tis", " =1", "o'=x"}) {
    CAPTURE(text);
    CHECK(with_apostrophes(text) == text);
    CHECK(without_apostrophes(text) == text);
  }
}

TEST_CASE("text with apostrophes is read as it was") {
  rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("='+-@\t,;\"a1 ")));
    RC_ASSERT(without_apostrophes(with_apostrophes(text)) == text);
  });
}
