#include "imports/wire_format.hpp"

namespace trainyard {

std::optional<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  constexpr unsigned bits = 64;
  for (unsigned shift = 0; shift < bits; shift += 7) {
    if (at_ == bytes_.size()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> WireReader::take(std::uint64_t count) {
  if (count > bytes_.size() - at_) return std::nullopt;
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += taken.size();
  return taken;
}

std::optional<std::string_view> WireReader::message() {
  const auto length = varint();
  return length ? take(*length) : std::nullopt;
}

std::optional<WireField> WireReader::field() {
  const auto key = varint();
  constexpr std::uint64_t most = (std::uint64_t{1} << 32U) - 1;
  if (!key || *key > most || *key >> 3U == 0) return std::nullopt;
  WireField made{.field = static_cast<std::uint32_t>(*key >> 3U), .type = static_cast<WireType>(*key & 7U)};
  switch (made.type) {
    case WireType::varint: {
      const auto number = varint();
      if (!number) return std::nullopt;
      made.number = *number;
      return made;
    }
    case WireType::bytes: {
      const auto text = message();
      if (!text) return std::nullopt;
      made.text = *text;
      return made;
    }
    case WireType::eight_bytes:
    case WireType::four_bytes: {
      const auto text = take(made.type == WireType::eight_bytes ? 8 : 4);
      if (!text) return std::nullopt;
      for (std::size_t i = text->size(); i-- > 0;)
        made.number = made.number << 8U | static_cast<unsigned char>((*text)[i]);
      return made;
    }
  }
  return std::nullopt;
}

bool append_numbers(const WireField& field, std::vector<std::uint64_t>& numbers) {
  if (field.type == WireType::varint) {
    numbers.push_back(field.number);
    return true;
  }
  if (field.type != WireType::bytes) return false;
  WireReader packed(field.text);
  while (!packed.at_end()) {
    const auto number = packed.varint();
    if (!number) return false;
    numbers.push_back(*number);
  }
  return true;
}

}  // namespace trainyard
