#include "config/compiled.hpp"

#include "config/read_file.hpp"
#include "config/yaml.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <functional>
#include <string>

using namespace trainyard;
using namespace trainyard::config;
namespace fs = std::filesystem;

namespace {

bool are_equal(const Node& a, const Node& b) {
  const auto is_same_entry = [](const Node::Entry& one, const Node::Entry& other) {
    return one.key == other.key && one.mark == other.mark && are_equal(one.value, other.value);
  };
  return a.kind == b.kind && a.mark == b.mark && a.scalar == b.scalar && a.quoted == b.quoted &&
         std::ranges::equal(a.items, b.items, are_equal) &&
         std::ranges::equal(a.entries, b.entries, is_same_entry);
}

}  // namespace

TEST_CASE("every shipped file is compiled to the tree that the parser reads, and an edited one is not") {
  int files = 0;
  for (const char* folder : {"platforms", "workloads"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TRAINYARD_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      CAPTURE(entry.path().string());
      ++files;
      std::string text = read_file(entry.path(), 1U << 20U);
      const auto compiled = compiled_tree(text);
      REQUIRE(compiled.has_value());
      CHECK(are_equal(*compiled, read_yaml({.name = "f.yaml"}, text).root));
      CHECK(load(entry.path()).lines.size() == std::ranges::count(text, '\n'));
      std::swap(text[text.size() / 2], text[text.size() / 2 + 1]);
      if (text[text.size() / 2] != text[text.size() / 2 + 1]) CHECK_FALSE(compiled_tree(text).has_value());
    }
  }
  CHECK(files > 300);
}

TEST_CASE("a text that is not shipped has no compiled tree") {
  for (const char* text : {"", "a", "a: 1\n"}) CHECK_FALSE(compiled_tree(text).has_value());
}
