#pragma once
// Shipped platforms for tests, each read once for each test program: reading takes longer than most tests.

#include "config/document.hpp"
#include "platform/load.hpp"

#include <map>
#include <string>

namespace trainyard::testing {

inline const Platform& shipped_platform(const std::string& name) {
  static std::map<std::string, Platform> platforms;
  auto found = platforms.find(name);
  if (found == platforms.end()) {
    const std::string path = std::string(TRAINYARD_SOURCE_DIR) + "/platforms/" + name + ".yaml";
    found = platforms.emplace(name, load_platform(config::load(path))).first;
  }
  return found->second;
}

}  // namespace trainyard::testing
