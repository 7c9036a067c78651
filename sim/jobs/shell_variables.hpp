#pragma once
// The variables of a shell script, with the lines where their values were written.

#include "jobs/shell_branches.hpp"

#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

inline bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// A text that knows the line of each character: the words of a variable stand where they were assigned.
struct Lined {
  std::string text;
  std::vector<int> lines;

  void add(char c, int line) {
    text += c;
    lines.push_back(line);
  }
  void add(std::string_view more, int line) {
    for (const char c : more) add(c, line);
  }
  void add(const Lined& more) {
    text += more.text;
    lines.insert(lines.end(), more.lines.begin(), more.lines.end());
  }
};

class ShellVariables {
public:
  /// NAME=value or, with `adds`, NAME+=value, which adds words.
  void assign(const std::string& name, Lined value, bool adds, int line, const ShellBranches& branches);
  /// The variable of a loop has its first value; `has_more`: of several.
  void begin_loop(const std::string& name, Lined value, bool has_more);
  /// Of an array, to change.
  std::vector<std::string>& elements_of(const std::string& name) { return elements_[name]; }
  /// "[1]" of an array.
  [[nodiscard]] std::optional<std::string> element(const std::string& name, std::string_view index) const;
  /// Null if there is none, or once are_too_long().
  const Lined* value_of(const std::string& name);
  /// A sum, in which names without "$" are variables, with their values.
  std::string sum_of(std::string_view text);
  /// Whether the values that were asked for are more than 16 MiB of text.
  [[nodiscard]] bool are_too_long() const { return put_in_ > most_put_in; }
  /// ShellText::decided_by_conditions
  [[nodiscard]] std::vector<std::string> decided_by_conditions() const;

private:
  static constexpr std::size_t most_put_in = std::size_t{16} << 20;

  std::map<std::string, Lined> values_;
  std::map<std::string, std::vector<std::string>> elements_;  ///< of arrays
  std::set<std::string> changed_in_branch_, used_;
  std::size_t put_in_ = 0;  ///< characters of values so far
};

}  // namespace trainyard::jobs
