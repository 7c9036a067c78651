#pragma once
// A shell script as commands of words, with the values of variables put in. Nothing is run.

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

struct Word {
  std::string text;
  int line = 0;
};

struct Command {
  std::vector<Word> words;
};

/// The text between <<EOF and EOF, written to a file.
struct HereDocument {
  std::string target;
  std::string text;
  int line = 0;  ///< in which the text begins
};

struct ShellText {
  std::vector<Command>
      commands;  ///< without assignments; "#SBATCH --nodes=4" is the command "sbatch --nodes=4"
  std::vector<HereDocument> documents;
  /// Variables that a command uses and that a loop, or a branch whose condition is not known, assigned again.
  std::vector<std::string> decided_by_conditions;
  std::string problem = {};  ///< why the text is not read to its end; empty if it is
  int problem_line = 0;
};

/// Splits as POSIX's shell does (IEEE 1003.1, section 2): quotes, continued lines, comments, variables with
/// defaults (${N:-8}) and parts (${N%%,*}), arrays of bash, sums and products of integers; redirections are
/// left out. A variable without a value, an argument ($1) and the output of a command stay as written. Of an
/// if or a case with conditions of known values (shell_condition.hpp) the branch that is taken is read,
/// otherwise all are. The words of an unquoted variable, and of a command line in quotes that is no option's
/// value, are words of the command. Variables put in at most 16 MiB, and stand at most 32 deep in each
/// other's defaults.
ShellText shell_words(std::string_view text);

}  // namespace trainyard::jobs
