#include "report/text_layout.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("whole numbers have their thousands separated") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(25557032) == "25,557,032");
  CHECK(grouped(-1234) == "-1,234");
}

TEST_CASE("numbers are rounded to four digits and never show an exponent") {
  CHECK(rounded(5731.4) == "5,731");
  CHECK(rounded(367.04) == "367.0");
  CHECK(rounded(15.6249) == "15.62");
  CHECK(rounded(0.025) == "0.02500");
  CHECK(rounded(9.9999) == "10.00");
  CHECK(rounded(1234567.8) == "1,234,568");
  CHECK(rounded(0) == "0");
}

TEST_CASE("a share that is not zero never prints as zero") {
  CHECK(percent(0) == "0.0 %");
  CHECK(percent(0.0001) == "< 0.1 %");
  CHECK(percent(0.9764) == "97.6 %");
}

TEST_CASE("text wraps at blanks and long words are cut in the middle") {
  CHECK(wrap("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("about 12.5 ms more", 11) == std::vector<std::string>{"about", "12.5 ms", "more"});
  CHECK(wrap("", 8).empty());
  CHECK(wrap("abcdefghijklmnop", 9) == std::vector<std::string>{"abc...nop"});
  CHECK(elide("short", 9) == "short");
}

TEST_CASE("columns count characters and not bytes") {
  CHECK(columns("ä→b") == 3);
  CHECK(elide("äöüäöüäöü", 7) == "äö...öü");
}
