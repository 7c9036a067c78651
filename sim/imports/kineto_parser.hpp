#pragma once
// Parses the JSON of a Kineto file: one event at a time, and the facts outside of events. Parts of an event
// that need no parsing, and text that is no JSON.

#include "imports/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The fields of an event that importers need. Views are valid as long as the event is.
struct KinetoFields {
  std::string_view phase, category;
  std::string name;
  std::string_view process, thread, start, duration;  ///< tokens of JSON; empty if missing
  bool is_odd = false;                                ///< phase, category or name is there, but no text
  std::uint64_t correlation = ProfileEvent::no_number, sequence = ProfileEvent::no_number,
                record = ProfileEvent::no_number;
  bool is_backward = false;
  std::string_view stream, device;                ///< tokens
  std::string_view dims, types, values, strides;  ///< lists of JSON
  std::string collective, group, members, description, dtype;
  std::optional<double> in_values, out_values, group_size;
};

/// A device as the profile describes it. Unknown is empty.
struct KinetoDevice {
  std::string name;
  std::optional<double> id, major, minor, sms, memory_bytes;
};

/// The facts outside of events.
struct KinetoFacts {
  std::optional<int> rank, ranks;
  std::vector<KinetoDevice> devices;
  std::map<std::string, RankGroup> groups;  ///< by name
};

class KinetoParser {
public:
  /// Bytes that must be readable behind the text of an event.
  static const std::size_t padding;

  KinetoParser();
  ~KinetoParser();

  /// The fields of an event, valid until the next call; nothing if the text is no JSON. Texts of other types
  /// where text is expected make the event odd, numbers of other types are left out.
  const KinetoFields* read(std::string_view event);

  /// The facts in a file without its events; as far as they go if it is no JSON.
  KinetoFacts facts(std::string text);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The value of `"cat"` where it stands before `"args"`, as in all files of PyTorch; empty if it does not.
std::string_view quick_category(std::string_view event);

/// The kind of events of a category, whatever their names; nothing for those that no importer uses.
std::optional<EventKind> event_kind_of(std::string_view category);

/// Whether no importer uses an event of this category.
bool is_needless(std::string_view category, std::string_view event);

/// The event with blanks for control characters in strings, question marks for bytes that are no UTF-8, and
/// escapes before quotes and backslashes in the name, which ends before the process.
std::string repaired(std::string_view event);

/// Microseconds as JSON's number, or as text that is one, in whole nanoseconds, rounded to the nearest: a
/// double does not hold absolute times to the nanosecond. Nothing if it is no number or beyond +-2^62 ns.
std::optional<std::int64_t> nanoseconds_of_us(std::string_view text);

/// Finds a short text that is known when the program is built: several times as fast as
/// std::string_view::find where its first character is frequent, as quotes are in JSON. Place of the first
/// `needle` at or behind `from`; npos if there is none.
template <std::size_t size>
std::size_t find_text(std::string_view text, const char (&needle)[size], std::size_t from = 0) {
  constexpr std::size_t length = size - 1;  // without the 0 at its end
  while (from < text.size() && text.size() - from >= length) {
    const void* const first = std::memchr(text.data() + from, needle[0], text.size() - from - length + 1);
    if (first == nullptr) return std::string_view::npos;
    from = static_cast<std::size_t>(static_cast<const char*>(first) - text.data());
    if (std::memcmp(text.data() + from, needle, length) == 0) return from;
    ++from;
  }
  return std::string_view::npos;
}

}  // namespace trainyard
