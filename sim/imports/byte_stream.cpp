#include "imports/byte_stream.hpp"

#include "config/diagnostic.hpp"
#include "io/gzip.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <future>
#include <string>
#include <system_error>
#include <vector>

namespace trainyard {
namespace {

OpenFile open_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw FileError(path.string() + ": is a folder");
  OpenFile file(std::fopen(path.c_str(), "rb"));
  if (!file) throw FileError(path.string() + ": " + std::strerror(errno));
  return file;
}

}  // namespace

struct ByteStream::Source {
  OpenFile file;
  std::unique_ptr<Inflater> inflater = {};
  std::future<std::vector<char>> next = {};  // that a second thread inflates; ends before the file
  std::vector<char> block = {};
  std::size_t taken = 0;

  void inflate_ahead() {
    next = std::async(std::launch::async, [&from = *inflater] { return from.next_block(); });
  }
  /// Empty at the end.
  std::vector<char> next_block() {
    if (!next.valid()) return inflater->next_block();
    std::vector<char> made = next.get();
    if (!made.empty()) inflate_ahead();
    return made;
  }
};

ByteStream::ByteStream(const std::filesystem::path& file, bool may_be_cut_off, bool inflates_ahead)
    : source_(std::make_unique<Source>(Source{.file = open_file(file)})) {
  std::array<unsigned char, 2> magic{};
  const std::size_t read = std::fread(magic.data(), 1, magic.size(), source_->file.get());
  if (std::fseek(source_->file.get(), 0, SEEK_SET) != 0)
    throw FileError(file.string() + ": " + std::strerror(errno));
  if (read == magic.size() && magic[0] == 0x1f && magic[1] == 0x8b) {
    source_->inflater = std::make_unique<Inflater>(source_->file.get(), file.string(), may_be_cut_off);
    if (inflates_ahead) source_->inflate_ahead();
  }
}

ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

std::size_t ByteStream::read(std::span<char> into) {
  if (!source_->inflater) return std::fread(into.data(), 1, into.size(), source_->file.get());
  std::size_t done = 0;
  while (done < into.size()) {
    if (source_->taken == source_->block.size()) {
      source_->block = source_->next_block();
      source_->taken = 0;
      if (source_->block.empty()) break;
    }
    const std::size_t part = std::min(into.size() - done, source_->block.size() - source_->taken);
    std::memcpy(into.data() + done, source_->block.data() + source_->taken, part);
    source_->taken += part;
    done += part;
  }
  return done;
}

std::string all_bytes(const std::filesystem::path& file, std::size_t most) {
  constexpr std::size_t block = std::size_t{4} << 20U;
  ByteStream stream(file);
  std::string bytes;
  while (true) {
    const std::size_t before = bytes.size();
    const std::size_t wanted = std::min(block, most + 1 - before);
    bytes.resize(before + wanted);
    bytes.resize(before + stream.read(std::span(bytes).subspan(before)));
    if (bytes.size() < before + wanted || bytes.size() > most) return bytes;
  }
}

}  // namespace trainyard
