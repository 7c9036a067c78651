#pragma once
// Messages of Protocol Buffers, made field by field.

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard::testing {

inline std::string varint_bytes(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}

inline std::string wire_number(unsigned field, std::uint64_t value) {
  return varint_bytes(field << 3U) + varint_bytes(value);
}

inline std::string wire_text(unsigned field, std::string_view text) {
  return varint_bytes(field << 3U | 2U) + varint_bytes(text.size()) + std::string(text);
}

}  // namespace trainyard::testing
