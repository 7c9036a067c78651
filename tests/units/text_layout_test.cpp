#include "units/text_layout.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("whole numbers have their thousands separated") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(25557032) == "25,557,032");
  CHECK(grouped(-1234) == "-1,234");
}

TEST_CASE("numbers are rounded to three digits and never show an exponent") {
  CHECK(rounded(5731.4) == "5,730");
  CHECK(rounded(367.04) == "367");
  CHECK(rounded(15.6249) == "15.6");
  CHECK(rounded(0.025) == "0.0250");
  CHECK(rounded(9.9999) == "10.0");
  CHECK(rounded(1234567.8) == "1,230,000");
  CHECK(rounded(0) == "0");
}

TEST_CASE("numbers of a column have the decimals of its largest") {
  CHECK(rounded_like(3.14159, 98.7) == "3.1");
  CHECK(rounded_like(98.7, 98.7) == "98.7");
  CHECK(rounded_like(1234.5, 200000) == "1,230");
  CHECK(rounded_like(0.5, 200000) == "0");
}

TEST_CASE("differences have their sign, and nothing is -0") {
  CHECK(with_sign("3.1 ms") == "+3.1 ms");
  CHECK(with_sign("-3.1 ms") == "-3.1 ms");
  CHECK(with_sign("0.0 ms") == "0.0 ms");
  CHECK(with_sign("-0.0 %") == "0.0 %");
  CHECK(percent(-0.0001) == "0.0 %");
  CHECK(percent(-0.02) == "-2.0 %");
}

TEST_CASE("a share that is not zero never prints as zero") {
  CHECK(percent(0) == "0.0 %");
  CHECK(percent(0.0001) == "< 0.1 %");
  CHECK(percent(0.9764) == "97.6 %");
}

TEST_CASE("text wraps at blanks and long words are cut in the middle") {
  CHECK(wrap("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("about 12.5 ms more", 11) == std::vector<std::string>{"about", "12.5 ms", "more"});
  for (const std::string number : {"(12.5", "+12.5", "2.5-12.5"})
    CHECK(wrap("about " + number + " ms more", 11 + number.size() - 4)[1] == number + " ms");
  CHECK(wrap("", 8).empty());
  CHECK(wrap("abcdefghijklmnop", 9) == std::vector<std::string>{"abc...nop"});
  CHECK(elide("short", 9) == "short");
}

TEST_CASE("columns count characters and not bytes") {
  CHECK(columns("ä→b") == 3);
  CHECK(elide("äöüäöüäöü", 7) == "äö...öü");
}
