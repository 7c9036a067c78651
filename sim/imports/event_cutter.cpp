#include "imports/event_cutter.hpp"

#include "interchange/input_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <utility>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace trainyard {
namespace {

constexpr std::size_t read_at_once = std::size_t{4} << 20U;
constexpr std::size_t largest_event = std::size_t{16} << 20U;
constexpr std::size_t largest_rest = std::size_t{64} << 20U;
constexpr std::size_t nowhere = std::string_view::npos;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The place behind the quote that ends the string which begins before `at`; `nowhere` if it is not in the
/// text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  while (true) {
    const std::size_t quote = text.find('"', at);
    if (quote == nowhere) return nowhere;
    std::size_t before = quote;
    while (before > at && text[before - 1] == '\\') --before;
    if ((quote - before) % 2 == 0) return quote + 1;
    at = quote + 1;
  }
}

/// Follows JSON until the bracket with which it begins is closed.
class BracketScan {
public:
  /// Whether the value ends with this byte.
  bool ends_with(char c) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (is_in_string_ && c == '\\') {
      is_escaped_ = true;
    } else if (c == '"') {
      is_in_string_ = !is_in_string_;
    } else if (!is_in_string_ && (c == '{' || c == '[')) {
      ++depth_;
    } else if (!is_in_string_ && (c == '}' || c == ']')) {
      return --depth_ == 0;
    }
    return false;
  }

#ifdef __SSE2__
  static constexpr std::size_t block = 16;

  /// The bytes up to and with the one with which the value ends; 0 if it does not end in these 16 bytes.
  std::size_t end_in_block(const char* bytes) {
    const auto found = [](__m128i in, char c) {
      return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(in, _mm_set1_epi8(c))));
    };
    const __m128i in = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    if (is_escaped_ || found(in, '\\') != 0) {
      for (std::size_t i = 0; i < block; ++i) {
        if (ends_with(bytes[i])) return i + 1;
      }
      return 0;
    }
    const __m128i both = _mm_or_si128(in, _mm_set1_epi8(0x20));  // '[' becomes '{', and ']' becomes '}'
    const unsigned quotes = found(in, '"');
    const unsigned opens = found(both, '{');
    for (unsigned marks = quotes | opens | found(both, '}'); marks != 0; marks &= marks - 1) {
      const unsigned mark = marks & (~marks + 1);
      if ((quotes & mark) != 0) {
        is_in_string_ = !is_in_string_;
      } else if (!is_in_string_) {
        depth_ += (opens & mark) != 0 ? 1 : -1;
        if (depth_ == 0) return static_cast<std::size_t>(std::countr_zero(mark)) + 1;
      }
    }
    return 0;
  }
#endif

private:
  int depth_ = 0;
  bool is_in_string_ = false, is_escaped_ = false;
};

/// The place behind the bracket that closes the one at `begin`; `nowhere` if it is not in the text.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  BracketScan scan;
  std::size_t at = begin;
#ifdef __SSE2__
  for (; at + BracketScan::block <= text.size(); at += BracketScan::block) {
    if (const std::size_t bytes = scan.end_in_block(text.data() + at)) return at + bytes;
  }
#endif
  for (; at < text.size(); ++at) {
    if (scan.ends_with(text[at])) return at + 1;
  }
  return nowhere;
}

/// The place behind `"traceEvents": [` of an object's own keys, or behind the bracket of an array of objects;
/// `nowhere` if the text does not have it.
std::size_t begin_of_events(std::string_view text) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const auto skip_spaces = [&] {
    while (at < text.size() && is_space(text[at])) ++at;
  };
  skip_spaces();
  if (at < text.size() && text[at] == '[') return at + 1;
  if (at == text.size() || text[at] != '{') return nowhere;
  ++at;
  while (at < text.size()) {
    skip_spaces();
    if (at < text.size() && text[at] == ',') {
      ++at;
      continue;
    }
    if (at >= text.size() || text[at] != '"') return nowhere;
    const std::size_t key = at + 1;
    at = end_of_string(text, key);
    if (at == nowhere) return nowhere;
    const std::string_view word = text.substr(key, at - 1 - key);
    skip_spaces();
    if (at >= text.size() || text[at] != ':') return nowhere;
    ++at;
    skip_spaces();
    if (at >= text.size()) return nowhere;
    if (word == "traceEvents") return text[at] == '[' ? at + 1 : nowhere;
    if (text[at] == '"') {
      at = end_of_string(text, at + 1);
    } else if (text[at] == '{' || text[at] == '[') {
      at = end_of_value(text, at);
    } else {
      at = text.find_first_of(",}", at);
    }
    if (at == nowhere) return nowhere;
  }
  return nowhere;
}

}  // namespace

EventCutter::EventCutter(ByteStream& stream, std::string name, std::size_t padding, std::string hint)
    : stream_(&stream), name_(std::move(name)), hint_(std::move(hint)), padding_(padding) {}

void EventCutter::fail(const std::string& message, const std::string& hint) const {
  throw input_error(name_, 0, fmt::format("{}, at byte {}", message, passed_ + at_), hint);
}

/// Reads more of the file behind what is there, which moves to the front. False at the end of the file.
bool EventCutter::fill() {
  const std::size_t kept = end_ - event_;
  if (event_ > 0) std::memmove(buffer_.data(), buffer_.data() + event_, kept);
  passed_ += event_;
  at_ -= event_;
  end_ = kept;
  event_ = 0;
  const std::size_t room = std::max(read_at_once, end_);
  if (buffer_.size() < end_ + room + padding_) buffer_.resize(end_ + room + padding_);
  const std::size_t read = stream_->read(std::span(buffer_).subspan(end_, room));
  end_ += read;
  return read > 0;
}

bool EventCutter::find_events() {
  event_ = 0;
  while (true) {
    const std::size_t begin = begin_of_events({buffer_.data(), end_});
    if (begin != nowhere) {
      rest_.assign(buffer_.data(), begin);
      at_ = event_ = begin;
      return true;
    }
    if (end_ > largest_rest || !fill()) return false;
  }
}

std::optional<std::string_view> EventCutter::next() {
  if (!has_begun_) {
    has_begun_ = true;
    if (!find_events()) fail("no array of events ('traceEvents')", hint_);
  }
  if (is_over_) return std::nullopt;
  event_ = at_;
  while (true) {
    while (at_ < end_ && (is_space(buffer_[at_]) || buffer_[at_] == ',')) ++at_;
    if (at_ < end_) break;
    event_ = at_;
    if (!fill()) {
      is_over_ = is_cut_off_ = true;
      return std::nullopt;
    }
  }
  event_ = at_;
  if (buffer_[at_] == ']') {
    is_over_ = true;
    read_rest();
    return std::nullopt;
  }
  if (buffer_[at_] != '{') fail("the array of events has something that is no object", "");
  const std::size_t end = end_of_event();
  if (end == nowhere) {
    // a quote in a name that is not escaped, or the end of the file
    if (const auto by_lines = again_by_lines()) return by_lines;
    if (end_ - event_ > largest_event) fail("an event has more than 16 MiB", "quotes in it may not pair");
    is_over_ = is_cut_off_ = true;
    return std::nullopt;
  }
  at_ = end;
  return std::string_view(buffer_.data() + event_, end - event_);
}

std::size_t EventCutter::end_of_event() {
  while (true) {
    const std::size_t end = end_of_value({buffer_.data(), end_}, event_);
    if (end != nowhere) return end;
    if (end_ - event_ > largest_event || !fill()) return nowhere;
  }
}

std::optional<std::string_view> EventCutter::again_by_lines() {
  constexpr std::string_view closing = "\n  }";
  constexpr std::size_t within = std::size_t{1} << 20U;
  if (end_ - event_ < within) (void)fill();
  const std::string_view text(buffer_.data() + event_, std::min(end_ - event_, within));
  const std::size_t found = text.find(closing);
  if (found == nowhere) return std::nullopt;
  at_ = event_ + found + closing.size();
  return text.substr(0, found + closing.size());
}

/// The text after the events, appended to the text before them.
void EventCutter::read_rest() {
  do {
    rest_.append(buffer_.data() + at_, end_ - at_);
    at_ = event_ = end_;
  } while (rest_.size() < largest_rest && fill());
}

}  // namespace trainyard
