#pragma once
// Every key of a table is named in the README that documents it.

#include "config/keys.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>

inline std::string readme_text(const std::string& path) {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Checks that `readme` holds `key` in backquotes for each key of T.
template <class T>
void check_documented(const std::string& readme) {
  std::apply(
      [&](const auto&... key) {
        const auto check = [&](const std::string& name) {
          INFO("key ", name);
          CHECK(readme.find("`" + name + "`") != std::string::npos);
        };
        (check(std::string(key.name)), ...);
      },
      trainyard::config::Keys<T>::table());
}
