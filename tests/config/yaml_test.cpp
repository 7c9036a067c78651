#include "config/yaml.hpp"

#include "config/samples.hpp"
#include "facts_in.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::config;

namespace {

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string parse_errors(std::string_view text) {
  try {
    Problems(parse("f.yaml", text)).finish(nullptr);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// Position and facts of the first error.
std::string first_error(std::string_view text) {
  try {
    Problems(parse("f.yaml", text)).finish(nullptr);
  } catch (const InputError& error) {
    const Diagnostic& first = error.diagnostics().front();
    const std::string facts = facts_in(first.message);
    return std::to_string(first.line) + ":" + std::to_string(first.column) + (facts.empty() ? "" : " ") +
           facts;
  }
  return "no error";
}

}  // namespace

TEST_CASE("a document becomes a tree with positions in characters") {
  const Document document =
      parse("f.yaml", "title: \"gr\u00fcn\"\nlinks:\n  - {n\u00e4me: \u00e9\u00e9, lanes: 6}\n");
  const Node& links = *document.root.find("links");
  CHECK(links.kind == Node::Kind::sequence);
  CHECK(links.mark == Mark{3, 3});
  const Node& lanes = document.nearest("links[0].lanes");
  CHECK(lanes.scalar == "6");
  CHECK(lanes.mark == Mark{3, 23});
  CHECK_FALSE(lanes.quoted);
  const Node& title = *document.root.find("title");
  CHECK(title.scalar == "gr\u00fcn");
  CHECK(title.quoted);
  CHECK(document.root.find("nothing") == nullptr);
  CHECK(&document.nearest("links[7].lanes") == &links);
  CHECK(&document.nearest("nothing.at.all") == &document.root);
}

TEST_CASE("a repeated key is an error at the second one") {
  CHECK(parse_errors("a: 1\nb: {c: 1, d: 2, c: 3}\na: 2\n") ==
        "f.yaml:2:17: error: key 'c' is repeated\n"
        "  2 | b: {c: 1, d: 2, c: 3}\n"
        "    |                 ^ first on line 2\n"
        "f.yaml:3:1: error: key 'a' is repeated\n"
        "  3 | a: 2\n"
        "    | ^ first on line 1");
}

TEST_CASE("a second document is an error") {
  CHECK(parse_errors("a: 1\n---\nb: 2\n") ==
        "f.yaml:2:1: error: a second document starts here\n"
        "  2 | ---\n"
        "    | ^ one file holds one document");
  CHECK(first_error("- a\nb: 1\n") == "2:1");
  CHECK(first_error("---\na: 1\n...\n# end\n") == "no error");
}

TEST_CASE("an alias inside its own anchor is an error") {
  CHECK(parse_errors("a: &x [1, *x]\n") ==
        "f.yaml:1:11: error: this alias refers to a value it is part of\n"
        "  1 | a: &x [1, *x]\n"
        "    |           ^");
  CHECK(first_error("&x {a: {b: *x}}\n") == "1:12");
  CHECK(first_error("[&x 1, &x [*x]]\n") == "1:12");
  CHECK(first_error("a: &x [&x 1, *x]\n") == "no error");
}

TEST_CASE("aliases are copies, positioned where they are used") {
  const Document document = parse("f.yaml", "a: &x {bandwidth: 3 GB/s}\nb: *x\n");
  const Node& copy = *document.root.find("b");
  CHECK(copy.mark == Mark{2, 4});
  CHECK(copy.find("bandwidth")->scalar == "3 GB/s");
  CHECK(first_error("a: *x\n") == "1:4");
  CHECK(first_error("a: &x 1\n*x : 2\n") == "2:1");
}

TEST_CASE("an alias bomb stops at 200,000 values") {
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + repeated(", " + last, 8) + "]\n";
  }
  const std::string message = first_error(bomb);
  CHECK(message.substr(message.find(' ') + 1) == "200000");
  CHECK(first_error(repeated("- 1\n", 200'001)) == "200001:3 200000");
}

TEST_CASE("aliases of long texts stop at 16 MiB, wherever in a value the text stands") {
  const std::string megabyte((1U << 20U) - 64, 'x');
  for (const std::string& value : {megabyte, "[1, {a: [" + megabyte + "]}]", "{? " + megabyte + " : 1}"}) {
    const std::string head = "a: &a " + value + "\n";
    // The anchor is a copy too.
    CHECK(first_error(head + "b: [*a" + repeated(", *a", 14) + "]\n") == "no error");
    const std::string message = first_error(head + "b:\n" + repeated("  - *a\n", 2'000));
    CHECK(message == "18:5 16");
  }
  CHECK(first_error("a: &a x\nb:\n" + repeated("  - *a\n", 50'000)) == "no error");
}

TEST_CASE("aliases cannot nest a document deeper than its cap") {
  std::string text = "a0: &a0 " + repeated("[", 20) + repeated("]", 20) + "\n";
  text += "a1: " + repeated("[", 12) + "*a0" + repeated("]", 12) + "\n";
  CHECK(first_error(text) == "2:17 32");
}

TEST_CASE("merge keys are an error") {
  CHECK(parse_errors("base: &b {a: 1}\nuse:\n  <<: *b\n") ==
        "f.yaml:3:3: error: merge keys ('<<') are not supported\n"
        "  3 |   <<: *b\n"
        "    |   ^^ write the keys out");
}

TEST_CASE("nesting deeper than 32 levels is an error in both forms, at the level that is too deep") {
  CHECK(first_error("a: " + repeated("[", 31) + repeated("]", 31)) == "no error");
  CHECK(first_error("a: " + repeated("[", 32) + repeated("]", 32)) == "1:35 32");
  CHECK(first_error(repeated("- ", 33) + "1") == "1:65 32");
  CHECK(first_error(repeated("[", 100'000)) == "1:33 32");  // never closed
  CHECK(first_error(repeated("{a: ", 100'000)) == "1:129 32");
  std::string block;
  for (int i = 0; i < 600; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(first_error(block) == "33:33 32");
}

TEST_CASE("an empty file says so") {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n", "\xEF\xBB\xBF"}) {
    CHECK(parse_errors(text) == "f.yaml: error: file is empty");
  }
}

TEST_CASE("a key is a word") {
  CHECK(first_error("? [a]\n: 1\n") == "1:3");
  CHECK(first_error("{{x}}: 1\n") == "1:1");
  CHECK(first_error(": 1\n") == "1:1");
  CHECK(first_error(repeated("k", 1030) + ": 1\n") == "1:1031 1024");
}

TEST_CASE("tags and directives are errors") {
  CHECK(first_error("a: !!str 1\n") == "1:4 '!'");
  CHECK(first_error("a: !gpu {b: 1}\n") == "1:4 '!'");
  CHECK(first_error("%YAML 1.1\n---\na: 1\n") == "1:1 '%'");
}

TEST_CASE("quotes and brackets that are never closed are found where they open") {
  CHECK(parse_errors("title: \"x\ngpus: 3\n") ==
        "f.yaml:1:8: error: this quote is never closed\n"
        "  1 | title: \"x\n"
        "    |        ^");
  CHECK(first_error("a: 'it''s\n") == "1:4");
  CHECK(first_error("a: \"\\\"\n") == "1:4");
  CHECK(first_error("a: &x \"b\n") == "1:7");
  CHECK(first_error("a: 'it''s'\nb: \"\\\"\"\nc: &x 'y'\nd: |\n  \"\n") == "no error");
  CHECK(parse_errors("a: [1,\n  2\nb: 3\n") ==
        "f.yaml:1:4: error: this bracket is never closed\n"
        "  1 | a: [1,\n"
        "    |    ^ expected ',' or ']' by line 3");
  CHECK(first_error("a: {b: 1\n") == "1:4");
  CHECK(first_error("a: {b: [3}\n") == "1:8");
  CHECK(first_error("a:\n  - [[b],[c]\n  - 3\n") == "2:5");
  CHECK(first_error("a: [b ? c]\n") == "1:7 '?'");
  CHECK(first_error("a: \"x\n---\nb: 1\n") == "1:4");
  CHECK(first_error("a: \"C:\\data\"\n") == "1:7 '\\'");
}

TEST_CASE("what yaml-cpp accepts and YAML does not is an error") {
  CHECK(first_error("a: 1\nb\n") == "2:1 ':'");
  CHECK(first_error("a: 1\n\"b\"\nc: 2\n") == "2:1 ':'");
  CHECK(first_error("a:\n  b: 1\n  c\n  d\n") == "3:3 ':'");
  CHECK(first_error("a: [1,, 2]\n") == "1:7");
  CHECK(first_error("a: {, b: 1}\n") == "1:5");
  CHECK(first_error("a: 1\n%b: 2\n") == "2:1");
  CHECK(first_error("a: [b: 'c\n") == "1:8");
  CHECK(first_error("a: \"\\N\"\n") == "1:4 U+0085");
  CHECK(parse("f.yaml", "a: \"b\\_\u00fc\\_\"\n").root.find("a")->scalar == "b\u00a0\u00fc\u00a0");
}

TEST_CASE("a bracket that is never closed is the only error, and costs no memory") {
  CHECK(parse_errors("[1, [2], {a: b}\n") ==
        "f.yaml:1:1: error: this bracket is never closed\n"
        "  1 | [1, [2], {a: b}\n"
        "    | ^ expected ',' or ']'");
  CHECK(first_error(repeated("[", 500'000)) == "1:1 200000");
  CHECK(first_error("- [" + repeated("1,", 500'000)) == "1:1 200000");
}

TEST_CASE("wrong indentation and stray characters are told in words") {
  CHECK(first_error("a: b: c\n") == "1:5 ':'");
  CHECK(first_error("a:\n  b: 1\n c: 2\n") == "3:2");
  CHECK(first_error("a: @x\n") == "1:4 '@'");
  CHECK(first_error("\u00fc: `x`\n") == "1:4 '`'");
  CHECK(first_error("a: 1\nb: 'x' y\nc: 2\n") == "2:8");
  CHECK(first_error("a: - 1\n") == "1:4");
  CHECK(first_error("a: !x!y 1\n") == "1:4 '!'");
  CHECK(first_error("a: 1\nb\nc: 2\n") == "2:1 ':'");
}

TEST_CASE(
    "characters that YAML does not allow are named, and others that end lines elsewhere do not count here") {
  CHECK(parse_errors("a: 1\nb: \u00fc\u009f\n") ==
        "f.yaml:2:5: error: character U+009F is not allowed\n"
        "  2 | b: \u00fc?\n"
        "    |     ^");
  CHECK(first_error("a: x\u0085y\n") == "1:5 U+0085");
  CHECK(first_error("a: 1 # x\u2028y\nb: \u2029\n") == "1:9 U+2028");
}

TEST_CASE("an empty value has the position of its key, an empty item that of its dash") {
  const Document document = parse("f.yaml", "\u00fc:\n  b:\n  c: ~\nd:\n  - 1\n  -\n  - # none\n  - 2\n");
  const Node& mapping = *document.root.find("\u00fc");
  CHECK(mapping.find("b")->kind == Node::Kind::null);
  CHECK(mapping.find("b")->mark == Mark{2, 3});
  CHECK(mapping.find("c")->mark == Mark{3, 3});
  const Node& list = *document.root.find("d");
  REQUIRE(list.items.size() == 4);
  CHECK(list.items[1].kind == Node::Kind::null);
  CHECK(list.items[1].mark == Mark{6, 3});
  CHECK(list.items[2].mark == Mark{7, 3});
}

TEST_CASE("a control character written as an escape is refused, line breaks and tabs are not") {
  CHECK(first_error("a: \"red \\e[31m\"\n") == "1:4 U+001B");
  CHECK(first_error("a: 1\nb: \"\\x9b\"\n") == "2:4 U+009B");
  CHECK(first_error("\"\\a\": 1\n") == "1:1 U+0007");
  CHECK(first_error("a: \"one\\ntwo\\tthree \\u00fc\"\n") == "no error");
}

TEST_CASE("an error in a long line shows the part around it") {
  const std::string text = "a: [" + repeated("x, ", 100) + "@]\n";
  const std::string shown = parse_errors(text);
  CHECK(shown.find("...") != std::string::npos);
  const std::size_t caret_line = shown.rfind('\n') + 1;
  const std::size_t source_line = shown.rfind('\n', caret_line - 2) + 1;
  CHECK(shown.at(source_line + shown.find('^', caret_line) - caret_line) == '@');
}
