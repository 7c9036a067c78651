#include "config/read_file.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace trainyard::config {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& reason) {
  throw FileError("cannot read " + in_quotes(file.string()) + (reason.empty() ? "" : ": " + reason));
}

}  // namespace

std::string read_file(const std::filesystem::path& file, std::uintmax_t largest) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    refuse(file, status.type() == fs::file_type::not_found ? "no such file" : error.message());
  }
  if (!fs::is_regular_file(status)) {
    refuse(file, fs::is_directory(status) ? "it is a directory" : "not a regular file");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, "permission denied");
  const std::uintmax_t size = fs::file_size(file, error);
  std::string bytes(static_cast<std::size_t>(error ? 0 : std::min(size, largest + 1)), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.bad()) refuse(file, {});
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

}  // namespace trainyard::config
