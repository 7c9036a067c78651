#include "exports/wire_writer.hpp"

namespace trainyard {

void WireWriter::varint(std::uint64_t value) {
  constexpr std::uint64_t more = 0x80;
  while (value >= more) {
    bytes_ += static_cast<char>(value | more);
    value >>= 7U;
  }
  bytes_ += static_cast<char>(value);
}

}  // namespace trainyard
