#include "io/gzip.hpp"

#include "config/diagnostic.hpp"

#include <fmt/format.h>
#include <new>
#include <stdexcept>
#include <utility>
#include <zlib.h>

namespace trainyard {
namespace {

constexpr std::size_t inflated_at_once = std::size_t{1} << 20U;
constexpr std::uint64_t largest_inflated = std::uint64_t{1} << 40U;
constexpr int gzip_header = 16;  // added to the size of the window

[[noreturn]] void refuse(const std::string& name, std::string message, std::string hint) {
  throw InputError({Diagnostic{.file = name,
                               .key_path = {},
                               .message = std::move(message),
                               .hint = std::move(hint),
                               .source_line = {}}});
}

}  // namespace

struct Inflater::State {
  std::FILE* file;
  std::string name;
  bool may_be_cut_off;
  std::vector<char> input;
  z_stream stream{};
  std::uint64_t read = 0, inflated = 0;
  bool is_between_members = true, is_over = false;
};

Inflater::Inflater(std::FILE* file, std::string name, bool may_be_cut_off)
    : state_(std::make_unique<State>(State{.file = file,
                                           .name = std::move(name),
                                           .may_be_cut_off = may_be_cut_off,
                                           .input = std::vector<char>(inflated_at_once)})) {
  if (inflateInit2(&state_->stream, MAX_WBITS + gzip_header) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(&state_->stream); }

std::vector<char> Inflater::next_block() {
  std::vector<char> block(inflated_at_once);
  state_->stream.next_out = reinterpret_cast<Bytef*>(block.data());
  state_->stream.avail_out = static_cast<uInt>(block.size());
  while (state_->stream.avail_out > 0 && !state_->is_over) step();
  block.erase(block.end() - state_->stream.avail_out, block.end());
  state_->inflated += block.size();
  if (state_->inflated > largest_inflated)
    refuse(state_->name, "the file inflates to more than 1 TiB", "no profile is that large");
  return block;
}

void Inflater::step() {
  if (state_->stream.avail_in == 0) {
    state_->stream.next_in = reinterpret_cast<Bytef*>(state_->input.data());
    state_->stream.avail_in =
        static_cast<uInt>(std::fread(state_->input.data(), 1, state_->input.size(), state_->file));
    state_->read += state_->stream.avail_in;
    if (state_->stream.avail_in == 0) {
      if (!state_->is_between_members && !state_->may_be_cut_off)
        refuse(state_->name, fmt::format("the compressed file is cut off after {} bytes", state_->read),
               "copy it again; --allow-truncated of 'import kineto' reads the part that is there");
      state_->is_over = true;
      return;
    }
  }
  if (state_->is_between_members &&
      *state_->stream.next_in == 0) {  // padding behind the last member, as tar and tapes leave it
    ++state_->stream.next_in;
    --state_->stream.avail_in;
    return;
  }
  state_->is_between_members = false;
  const int result = inflate(&state_->stream, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    state_->is_between_members = true;
    inflateReset(&state_->stream);
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    refuse(state_->name,
           fmt::format("the compressed file is damaged near byte {}", state_->read - state_->stream.avail_in),
           "copy it again");
  }
}

std::string uncompressed(const std::string& name, std::string bytes, std::uintmax_t largest) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  const OpenFile file(::fmemopen(bytes.data(), bytes.size(), "rb"));
  if (!file) throw std::bad_alloc();
  Inflater inflater(file.get(), name, false);
  std::string content;
  for (std::vector<char> block; !(block = inflater.next_block()).empty();) {
    content.append(block.begin(), block.end());
    if (content.size() > largest)
      refuse(name, fmt::format("its content is larger than {} MiB", largest >> 20U), "a smaller file");
  }
  return content;
}

std::string compressed_by_gzip(std::string_view text) {
  z_stream stream{};
  constexpr int memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, memory,
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
