#pragma once
// Every key of a table is named in the README that documents it.

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

/// Checks that `readme` holds `key` in backquotes for each key of T.
template <class T>
void check_documented(const std::string& readme) {
  const auto check = [&](std::string_view name) {
    INFO("key ", name);
    CHECK(readme.find(fmt::format("`{}`", name)) != std::string::npos);
  };
  trainyard::config::Keys<T>::table()([&](const auto&... key) { (check(key.name), ...); });
}
