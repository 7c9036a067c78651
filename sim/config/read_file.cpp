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

std::ifstream opened(const std::filesystem::path& file) {
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
  return stream;
}

}  // namespace

std::string read_file(const std::filesystem::path& file, std::uintmax_t largest) {
  std::ifstream stream = opened(file);
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  std::string bytes(static_cast<std::size_t>(error ? 0 : std::min(size, largest + 1)), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.bad()) refuse(file, {});
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

void read_in_pieces(const std::filesystem::path& file, std::uintmax_t largest,
                    const std::function<void(std::string_view)>& take) {
  std::ifstream stream = opened(file);
  const auto refuse_size = [&] {
    refuse(file, "it has more than " + std::to_string(largest >> 20U) + " MiB");
  };
  std::error_code error;
  if (const std::uintmax_t size = std::filesystem::file_size(file, error); !error && size > largest)
    refuse_size();
  std::string piece(std::size_t{1} << 20U, '\0');
  std::uintmax_t total = 0;
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (stream.bad()) refuse(file, {});
    const auto got = static_cast<std::size_t>(stream.gcount());
    total += got;
    if (total > largest) refuse_size();  // it grows
    take(std::string_view(piece).substr(0, got));
  }
}

}  // namespace trainyard::config
