#pragma once
// Checks that the README documents every key of a table.

#include "config/keys.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

inline std::string readme_text(const std::string& path) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Checks that `readme` contains each key of T in backquotes.
template <class T>
void check_documented(const std::string& readme) {
  const auto check = [&](std::string_view name) {
    INFO("key ", name);
    CHECK(readme.find(fmt::format("`{}`", name)) != std::string::npos);
  };
  trainyard::config::Keys<T>::table()([&](const auto&... key) { (check(key.name), ...); });
}
