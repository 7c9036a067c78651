#include "config/plain_text.hpp"

#include "config/document.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::config;

namespace {

std::string errors(std::string_view bytes) {
  try {
    plain_text("f.yaml", bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a byte order mark is dropped and line ends are one character") {
  CHECK(plain_text("f",
                   "\xEF\xBB\xBF"
                   "a: 1\r\nb: 2\n") == "a: 1\nb: 2\n");
}

TEST_CASE("what is not UTF-8 is an error with its byte offset") {
  using namespace std::string_literals;
  CHECK(errors("a: \xE9t\xE9\n") ==
        "f.yaml:1:4: error: not UTF-8 at byte offset 3\n  save the file as UTF-8");  // Latin-1
  CHECK(errors("\u00e9: 1\nb: \xC0\xAF\n") ==
        "f.yaml:2:4: error: not UTF-8 at byte offset 9\n  save the file as UTF-8");   // overlong
  CHECK(errors("a: \xED\xA0\x80\n").find("byte offset 3") != std::string::npos);      // surrogate
  CHECK(errors("a: \xF4\x90\x80\x80\n").find("byte offset 3") != std::string::npos);  // beyond U+10FFFF
  CHECK(errors("a: \xE2\x82").find("byte offset 3") != std::string::npos);            // cut off
  CHECK(errors("a: \u20ac \U0001F600 \u00fc\n") == "no error");
}

TEST_CASE("UTF-16 and binary files are named as such") {
  using namespace std::string_literals;
  const std::string utf16 = "f.yaml: error: file is UTF-16, not UTF-8 (byte offset 0)\n  save it as UTF-8";
  CHECK(errors("\xFF\xFE"
               "a\0:\0"s) == utf16);
  CHECK(errors("\xFE\xFF"
               "\0a\0:"s) == utf16);
  CHECK(errors("a\0:\0 \0"s) == utf16);
  CHECK(errors("\0a\0:\0 "s) == utf16);
  CHECK(errors("title: x\0y\n"s) == "f.yaml: error: file is binary: zero byte at byte offset 8");
}

TEST_CASE("control characters are errors at their place") {
  CHECK(errors("a: 1\x04\nb: 2\n") == "f.yaml:1:5: error: control character 0x04 in the text");
  CHECK(errors("a: 1\rb: 2\r") == "f.yaml:1:5: error: control character 0x0d in the text");
  CHECK(errors("a: \x7f\n") == "f.yaml:1:4: error: control character 0x7f in the text");
}

TEST_CASE("tabs must not indent; every line that has one is reported") {
  CHECK(errors("a:\n\tb: 1\n\t# comment\n  \tc: 2\n") ==
        "f.yaml:2:1: error: tabs are not allowed in indentation\n"
        "  2 |  b: 1\n"
        "    | ^ use spaces\n"
        "f.yaml:4:3: error: tabs are not allowed in indentation\n"
        "  4 |    c: 2\n"
        "    |   ^ use spaces");
  CHECK(errors("a:\t1 \t# x\n\t\n") == "no error");
}

TEST_CASE("a file of more than 4 MiB is not read") {
  CHECK(errors("a: 1\n" + std::string(largest_file, '#')) ==
        "f.yaml: error: file has 4194309 bytes, more than 4 MiB");
  CHECK(errors("a: 1\n" + std::string(largest_file - 5, '#')) == "no error");
}
