#pragma once
// Tables of keys that need other keys, or exclude them: one row per combination that has no meaning or is not
// simulated.

#include <string>
#include <string_view>

namespace trainyard::config {

/// The texts may have the words of the settings in braces, as "{kind}".
template <class Settings>
struct Refusal {
  std::string_view key;  ///< where the error is reported
  bool (*applies)(const Settings& settings);
  std::string_view message;
  std::string_view hint = {};
};

/// Calls `report(key, message, hint)` for each row that applies, in the order of the rows. `in_words(text,
/// settings)` puts the words of the settings into a text.
template <class Rows, class Settings, class InWords, class Report>
void refuse(const Rows& rows, const Settings& settings, InWords in_words, Report report) {
  for (const Refusal<Settings>& row : rows) {
    if (row.applies(settings))
      report(in_words(row.key, settings), in_words(row.message, settings), in_words(row.hint, settings));
  }
}

/// Whether the optional member has a value.
template <auto member, class Settings>
bool has(const Settings& settings) {
  return (settings.*member).has_value();
}

}  // namespace trainyard::config
