#pragma once
// Writes the wire format of Protocol Buffers: fields of a message one after the other.

#include "imports/wire_format.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

class WireWriter {
public:
  template <class Field>
  void number(Field field, std::uint64_t value) {
    key(static_cast<std::uint32_t>(field), WireType::varint);
    varint(value);
  }
  template <class Field>
  void text(Field field, std::string_view value) {
    key(static_cast<std::uint32_t>(field), WireType::bytes);
    varint(value.size());
    bytes_ += value;
  }
  /// Numbers of a repeated field, packed as proto3 does.
  template <class Field>
  void numbers(Field field, std::span<const std::uint64_t> values) {
    if (values.empty()) return;
    WireWriter packed;
    for (const std::uint64_t value : values) packed.varint(value);
    text(field, packed.bytes_);
  }
  void varint(std::uint64_t value) {
    constexpr std::uint64_t more = 0x80;
    for (; value >= more; value >>= 7U) bytes_ += static_cast<char>(value | more);
    bytes_ += static_cast<char>(value);
  }
  /// What is written already, such as a message behind its length.
  void append(std::string_view bytes) { bytes_ += bytes; }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

private:
  void key(std::uint32_t field, WireType type) {
    varint(std::uint64_t{field} << 3U | static_cast<std::uint64_t>(type));
  }

  std::string bytes_;
};

}  // namespace trainyard
