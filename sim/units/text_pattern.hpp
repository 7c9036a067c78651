#pragma once
// Regular expressions. The header <regex> costs every source that includes it three seconds of a build, in
// each of three builds: it is included in one.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// A regular expression in ECMAScript's grammar.
class TextPattern {
public:
  /// The whole match, then its groups; a group that took no part is empty.
  using Match = std::vector<std::string>;

  explicit TextPattern(const std::string& expression);
  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;
  ~TextPattern();

  /// The match of all of a text.
  [[nodiscard]] std::optional<Match> whole(const std::string& text) const;
  /// The first match in a text.
  [[nodiscard]] std::optional<Match> first(const std::string& text) const;
  /// The matches that do not overlap, in order.
  [[nodiscard]] std::vector<Match> all(const std::string& text) const;
  /// The text with another one in place of each match.
  [[nodiscard]] std::string replaced(const std::string& text, const std::string& by) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace trainyard
