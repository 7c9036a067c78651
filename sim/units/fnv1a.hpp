#pragma once
// FNV-1a with 64 bits: a number for a text, the same on every machine; not cryptographic. Source: Fowler,
// Noll, Vo; draft-eastlake-fnv, section 2.

#include <cstdint>
#include <string_view>

namespace trainyard {

class Fnv1a {
public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace trainyard
