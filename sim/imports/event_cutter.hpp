#pragma once
// Cuts a profile in the Chrome trace format into its events without holding the file in memory: a profile of
// some steps has hundreds of MB, of which importers keep a tenth.

#include "imports/byte_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

class EventCutter {
public:
  /// `padding` bytes behind each event can be read, as parsers that look ahead need. `name` is printed in
  /// errors, and `hint` in that of a file without events.
  EventCutter(ByteStream& stream, std::string name, std::size_t padding,
              std::string hint = "a profile of torch.profiler has one");

  /// The next event, an object of JSON, valid until the next call; nothing at the end. Strings are taken to
  /// end at the next quote that is not escaped. Throws InputError with the byte if the file has no array of
  /// events, is cut off inside (Cut), or an event has more than 16 MiB.
  std::optional<std::string_view> next();

  /// The last event again, up to the line that closes it in files of PyTorch: for events whose quotes do not
  /// pair. Nothing if there is no such line within the next 1 MiB.
  std::optional<std::string_view> again_by_lines();

  /// Byte of the file, inflated, at which the last event begins.
  [[nodiscard]] std::uint64_t offset() const { return passed_ + event_; }

  /// All of the file but its events, an object of JSON: complete after the last event.
  [[nodiscard]] const std::string& rest() const { return rest_; }

  /// Whether the file ended inside its events.
  [[nodiscard]] bool is_cut_off() const { return is_cut_off_; }

private:
  bool fill();
  bool find_events();
  std::size_t end_of_event();
  void read_rest();
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  ByteStream* stream_;
  std::string name_, hint_;
  std::size_t padding_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;  ///< the bytes that are not yet cut
  std::size_t event_ = 0;         ///< the last event
  std::uint64_t passed_ = 0;      ///< bytes of the file before the buffer
  std::string rest_;
  bool has_begun_ = false, is_over_ = false, is_cut_off_ = false;
};

}  // namespace trainyard
