#include "learn/gzip.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <zlib.h>

namespace trainyard {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& reason, const std::string& hint) {
  throw InputError(in_quotes(name) + ": " + reason, hint);
}

/// Ends the stream on every way out.
struct Inflation {
  z_stream stream{};
  bool is_open = false;

  Inflation() = default;
  ~Inflation() {
    if (is_open) inflateEnd(&stream);
  }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
};

}  // namespace

std::string uncompressed(const std::string& name, std::string bytes, std::uintmax_t largest) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  constexpr int gzip_header = 16;
  Inflation inflation;
  z_stream& stream = inflation.stream;
  if (inflateInit2(&stream, MAX_WBITS + gzip_header) != Z_OK) refuse(name, "no memory to uncompress it", {});
  inflation.is_open = true;
  std::string content;
  std::array<char, 1U << 16U> piece{};
  std::size_t given = 0;
  for (;;) {
    if (stream.avail_in == 0 && given < bytes.size()) {
      const std::size_t next = std::min<std::size_t>(bytes.size() - given, std::numeric_limits<int>::max());
      stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + given);  // zlib's type of a byte
      stream.avail_in = static_cast<uInt>(next);
      given += next;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    content.append(piece.data(), piece.size() - stream.avail_out);
    if (content.size() > largest)
      refuse(name, "its content is larger than " + std::to_string(largest >> 20U) + " MiB", "a smaller file");
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0 && given == bytes.size()) return content;
      inflateReset(&stream);  // files put together: gzip reads them as one
      continue;
    }
    const bool is_stuck = stream.avail_in == 0 && given == bytes.size() && stream.avail_out != 0;
    if (is_stuck) refuse(name, "the compressed file ends too early", "copy it again");
    if (result != Z_OK && result != Z_BUF_ERROR)
      refuse(name, "the compressed file is damaged", "check it with gzip -t");
  }
}

}  // namespace trainyard
