#pragma once
// The wire format of Protocol Buffers: https://protobuf.dev/programming-guides/encoding. Enough of it to read
// messages whose schema is known.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class WireType : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

/// One field of a message. `number` holds a varint, or the bits of four or eight bytes; `text` of bytes.
struct WireField {
  std::uint32_t field = 0;
  WireType type{};
  std::uint64_t number = 0;
  std::string_view text = {};
};

/// Reads values one after the other; points into the bytes.
class WireReader {
public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t position() const { return at_; }
  /// Nothing if the bytes are no such value or are cut off.
  std::optional<std::uint64_t> varint();
  std::optional<WireField> field();
  /// The bytes behind their length.
  std::optional<std::string_view> message();

private:
  std::optional<std::string_view> take(std::uint64_t count);

  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Appends the numbers of a repeated field, packed or not; false if they are damaged.
bool append_numbers(const WireField& field, std::vector<std::uint64_t>& numbers);

}  // namespace trainyard
