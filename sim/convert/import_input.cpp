#include "convert/import_input.hpp"

#include "imports/byte_stream.hpp"

#include <array>

namespace trainyard {

void add_input_file(CLI::App& command, std::string& file, const char* text) {
  command.add_option("file", file, text)->required()->type_name("FILE");
}

void add_output_file(CLI::App& command, std::string& file, const char* text) {
  command.add_option("-o,--output", file, text)->required()->type_name("FILE");
}

void require_format(const std::string& file, std::initializer_list<config::FileFormat> own) {
  std::array<char, std::size_t{64} << 10U> head{};
  ByteStream stream(file, true);  // a file that is cut off is its reader's to refuse
  const std::size_t size = stream.read(head);
  config::refuse_foreign(file, {head.data(), size}, own);
}

}  // namespace trainyard
