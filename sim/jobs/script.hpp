#pragma once
// The options of a launcher and of the program it starts, in a shell script or a command line.

#include "jobs/setting.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::jobs {

/// A file that the script writes: cat <<EOF > ds_config.json.
struct WrittenFile {
  std::string name;
  std::string text;
  int line = 0;  ///< of the script, in which the text begins
};

/// "torchrun", "srun", "pretrain_gpt.py", and the number of its command (Setting::command).
struct Program {
  std::string name;
  int command = 0;
};

struct Script {
  std::vector<Program> programs;  ///< in the order of the script
  std::vector<Setting> settings;  ///< options of all commands, and those of #SBATCH
  std::set<int> with_program;     ///< commands (Setting::command) that start a Python program
  std::vector<WrittenFile> files;
  std::vector<std::string> warnings;  ///< parts that decide on a value but are not followed
};

/// Reads a script as a shell would up to the values of variables: assignments, arrays, defaults (${N:-8}),
/// sums and products, quotes, continued lines, here-documents. Nothing is run; branches of conditions are all
/// read, the last assignment counts, and a warning names it if an option uses it. A variable without a value
/// stays as it is written. Throws InputError with its line where variables make too much text
/// (shell_words()).
Script read_script(const std::string& file, std::string_view text);

}  // namespace trainyard::jobs
