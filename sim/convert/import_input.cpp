#include "convert/import_input.hpp"

#include "imports/byte_stream.hpp"

#include <array>

namespace trainyard {

void require_format(const std::string& file, std::initializer_list<config::FileFormat> own) {
  std::array<char, std::size_t{64} << 10U> head{};
  ByteStream stream(file, true);  // a file that is cut off is its reader's to refuse
  const std::size_t size = stream.read(head);
  config::refuse_foreign(file, {head.data(), size}, own);
}

}  // namespace trainyard
