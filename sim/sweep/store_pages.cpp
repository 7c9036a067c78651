#include "sweep/store_pages.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

#include <bit>
#include <fmt/format.h>
#include <string_view>

namespace trainyard {
namespace {

constexpr std::size_t header_size = 100;
constexpr std::size_t page_size_at = 16;       // 2 bytes; 1 means 65536
constexpr std::size_t user_version_at = 60;    // 4 bytes
constexpr std::size_t application_id_at = 68;  // 4 bytes
constexpr std::size_t page_count_at = 28;      // 4 bytes; SQLite uses the size of the file if they are 0
constexpr char leaf_of_table = 13;             // first byte of a page

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes) number = (number << 8U) | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace

StorePages::StorePages(const std::filesystem::path& file, std::optional<std::size_t> page_size)
    : path_(file.string()), stream_(file, std::ios::in | std::ios::out | std::ios::binary) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!stream_ || error) throw FileError(fmt::format("cannot read {}", in_quotes(path_)));
  std::string header(header_size, '\0');
  stream_.read(header.data(), header_size);
  stream_.clear();
  const std::string_view fields = header;
  const std::uint32_t written = big_endian(fields.substr(page_size_at, 2));
  const std::uint32_t in_bytes = written == 1 ? 65536 : written;
  if (std::has_single_bit(in_bytes) && in_bytes >= smallest_page) page_size_ = in_bytes;
  if (page_size) page_size_ = *page_size;
  count_in_header_ = big_endian(fields.substr(page_count_at, 4));
  count_ = static_cast<std::uint32_t>((size + page_size_ - 1) / page_size_);
}

std::string StorePages::read(std::uint32_t page) {
  std::string bytes(page_size_, '\0');
  stream_.seekg(static_cast<std::streamoff>((page - 1) * page_size_));
  stream_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream_.clear();
  return bytes;
}

void StorePages::write(std::uint32_t page, const std::string& bytes) {
  stream_.seekp(static_cast<std::streamoff>((page - 1) * page_size_));
  stream_ << bytes << std::flush;
  if (!stream_) throw FileError(fmt::format("cannot write {}", in_quotes(path_)));
}

void StorePages::forget_numbers() {
  std::string first = read(1);
  for (const std::size_t number : {user_version_at, application_id_at}) first.replace(number, 4, 4, '\0');
  write(1, first);
}

void StorePages::forget_count() {
  std::string first = read(1);
  first.replace(page_count_at, 4, 4, '\0');
  write(1, first);
}

std::vector<std::uint32_t> StorePages::leaves() {
  std::vector<std::uint32_t> found;
  for (std::uint32_t page = 2; page <= count_; ++page) {
    if (read(page).front() == leaf_of_table) found.push_back(page);
  }
  return found;
}

}  // namespace trainyard
