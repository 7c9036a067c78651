#pragma once
// The branches and loops of a shell script that are open where it is read.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

class ShellBranches {
public:
  /// Whether the first word of a command begins, continues or ends a branch or a loop.
  bool take_word(std::string_view word);

  /// A command ends, in a condition or not.
  void end_command(const std::vector<std::string>& words);

  /// The characters '|', ')' and ';' of a case, and the end of its first line, with the words before them.
  /// True if the words are no command. `is_double`: the second ';' follows.
  bool take_pattern(char c, bool is_double, const std::vector<std::string>& words);

  /// Whether the words that have been read are those of a loop, "NAME in words". Once for each loop.
  bool take_loop();

  /// Whether what is read now is not run.
  [[nodiscard]] bool skips() const;
  /// Whether it depends on a condition whose value is not known, or is part of a loop.
  [[nodiscard]] bool is_unsure() const;
  /// Whether it may be left out: as is_unsure(), without loops.
  [[nodiscard]] bool is_choice() const;

private:
  struct Branch {
    std::string word;                ///< that began it: if, case, for, while, until
    bool is_unknown = false;         ///< a condition whose value is not known: all later parts are read
    bool is_condition = false;       ///< between if and then; of a case, before ')'
    bool was_taken = false;          ///< a part has been read, and no other is
    bool skips = false;              ///< the part that is read now is not run
    int commands = 0;                ///< in the condition
    std::optional<bool> value = {};  ///< of the condition, or whether a pattern fits
    std::optional<std::string> subject = {};  ///< of a case
  };

  static void continue_if(Branch& branch, std::string_view word);
  static void take_alternative(Branch& branch, char c, std::string_view pattern);

  std::vector<Branch> branches_;
};

}  // namespace trainyard::jobs
