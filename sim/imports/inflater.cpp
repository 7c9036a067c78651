#include "imports/inflater.hpp"

#include "interchange/input_text.hpp"

#include <fmt/format.h>
#include <new>
#include <utility>
#include <zlib.h>

namespace trainyard {
namespace {

constexpr std::size_t inflated_at_once = std::size_t{1} << 20U;
constexpr std::uint64_t largest_inflated = std::uint64_t{1} << 40U;

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
  constexpr int gzip_only = 16 + MAX_WBITS;
  if (inflateInit2(&state_->stream, gzip_only) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(&state_->stream); }

std::vector<char> Inflater::next_block() {
  std::vector<char> block(inflated_at_once);
  state_->stream.next_out = reinterpret_cast<Bytef*>(block.data());
  state_->stream.avail_out = static_cast<uInt>(block.size());
  while (state_->stream.avail_out > 0 && !state_->is_over) step();
  block.resize(block.size() - state_->stream.avail_out);
  state_->inflated += block.size();
  if (state_->inflated > largest_inflated)
    throw input_error(state_->name, 0, "the file inflates to more than 1 TiB", "no profile is that large");
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
        throw input_error(state_->name, 0,
                          fmt::format("the compressed file is cut off after {} bytes", state_->read),
                          "copy it again, or import the part that is there with --allow-truncated");
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
    throw input_error(
        state_->name, 0,
        fmt::format("the compressed file is damaged near byte {}", state_->read - state_->stream.avail_in),
        "copy it again");
  }
}

}  // namespace trainyard
