#include "exports/gzip.hpp"

#include <stdexcept>
#include <zlib.h>

namespace trainyard {

std::string compressed_by_gzip(std::string_view text) {
  z_stream stream{};
  constexpr int gzip = 16;  // added to the size of the window: a gzip file
  constexpr int memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip, memory,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib does not start");
  std::string compressed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  // zlib does not write to its input; its interface is older than const
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // NOLINT
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());  // NOLINT
  stream.avail_out = static_cast<uInt>(compressed.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) throw std::runtime_error("zlib does not compress");
  return compressed;
}

}  // namespace trainyard
