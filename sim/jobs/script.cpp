#include "jobs/script.hpp"

#include "config/diagnostic.hpp"
#include "jobs/shell_values.hpp"
#include "jobs/shell_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <utility>

namespace trainyard::jobs {
namespace {

/// A program that starts others, and the section of its options.
struct Launcher {
  std::string_view program, section;
};
constexpr std::array launchers{Launcher{"srun", "slurm"},
                               Launcher{"sbatch", "slurm"},
                               Launcher{"salloc", "slurm"},
                               Launcher{"torchrun", "torchrun"},
                               Launcher{"tune", "torchrun"},
                               Launcher{"torch.distributed.run", "torchrun"},
                               Launcher{"torch.distributed.launch", "torchrun"},
                               Launcher{"accelerate", "accelerate"},
                               Launcher{"accelerate.commands.launch", "accelerate"},
                               Launcher{"deepspeed", "deepspeed"},
                               Launcher{"mpirun", "mpirun"},
                               Launcher{"mpiexec", "mpirun"},
                               Launcher{"horovodrun", "mpirun"},
                               Launcher{"fabric", "fabric"},
                               Launcher{"train_gpt2cu", "llmc"}};

/// Words that never are the value of an option, since a command begins with them.
constexpr std::array<std::string_view, 8> commands{"python", "python3",     "bash",      "sh",
                                                   "docker", "singularity", "apptainer", "launch"};

std::string_view base_of(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

const Launcher* launcher_of(std::string_view word) {
  const auto found = std::ranges::find(launchers, base_of(word), &Launcher::program);
  return found == launchers.end() ? nullptr : &*found;
}

bool is_program(std::string_view word) {
  return word.ends_with(".py") || launcher_of(word) != nullptr ||
         std::ranges::find(commands, base_of(word)) != commands.end();
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
}

/// "model.tensor_model_parallel_size=4", as Hydra and OmegaConf take settings.
bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  const auto is_of_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '+';
  };
  return std::ranges::all_of(word.substr(0, equals), is_of_key);
}

/// "train.micro_batch_size=4" ends the values of an option.
bool is_nested_assignment(std::string_view word) {
  return is_assignment(word) && word.substr(0, word.find('=')).find('.') != std::string_view::npos;
}

/// "$@", "${EXTRA_ARGS}": words that only the script's surroundings know.
bool is_unknown_variable(std::string_view word) {
  if (!word.starts_with('$') || word.starts_with("$(")) return false;
  return word.find_first_of("/,.=-", 1) == std::string_view::npos && word.rfind('$') == 0;
}

bool is_arguments(std::string_view word) { return word == "$@" || word == "$*" || word == "${@}"; }

/// Commands that print their words, or that only name them.
bool is_printing(const Command& command) {
  constexpr std::array<std::string_view, 4> names{"echo", "printf", ":", "cat"};
  return !command.words.empty() && std::ranges::find(names, command.words.front().text) != names.end();
}

class Reader {
public:
  explicit Reader(const std::string& file) : file_(file) {}

  void add(const Command& command) {
    ++command_;
    if (is_printing(command)) return;
    words_ = command.words;
    section_.clear();
    bool has_program = false;  // an option of a shell's own command is of no interest
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_].text;
      if (is_option(word)) {
        if (word == "-m" || word == "--module") {
          section_.clear();
          continue;
        }
        const bool is_tune = !script.programs.empty() && script.programs.back().name == "tune";
        if (is_tune && word == "--config") {  // of torchtune: the recipe's own from here
          section_.clear();
          if (at_ + 1 < words_.size()) add_setting("config", words_[at_ + 1].text, words_[at_].line, false);
          ++at_;
          continue;
        }
        if (has_program) add_option();
      } else if (const Launcher* const launcher = launcher_of(word)) {
        section_ = launcher->section;
        has_program = true;
        if (word != "sbatch")
          script.programs.push_back({std::string(launcher->program), command_});  // its options are comments
      } else if (word.ends_with(".py") || (at_ > 0 && words_[at_ - 1].text == "-m")) {
        section_.clear();
        has_program = true;
        script.with_program.insert(command_);
        script.programs.push_back({std::string(base_of(word)), command_});
      } else if (has_program && section_.empty() && (word.ends_with(".yml") || word.ends_with(".yaml"))) {
        add_setting("configuration", std::string(base_of(word)), words_[at_].line, false);
      } else if (is_assignment(word) && has_program) {
        const std::size_t equals = word.find('=');
        const std::size_t begin = word.find_first_not_of('+');
        add_setting(word.substr(begin, equals - begin), word.substr(equals + 1), words_[at_].line, false);
      }
    }
    if (!has_program && !words_.empty() && is_option(words_.front().text) &&
        words_.front().text.starts_with("--"))
      for (at_ = 0; at_ < words_.size(); ++at_)  // arguments alone
        if (is_option(words_[at_].text)) add_option();
  }

  Script script;

private:
  void add_option() {
    const Word& word = words_[at_];
    const std::string_view text = word.text;
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
      add_setting(as_key(text.substr(0, equals)), std::string(text.substr(equals + 1)), word.line, false);
      return;
    }
    if (section_ == "slurm" && text.size() > 2 && text[1] != '-' && is_digits(text.substr(2))) {  // -N4
      add_setting(std::string(text.substr(1, 1)), std::string(text.substr(2)), word.line, false);
      return;
    }
    std::string value;
    std::size_t count = 0;
    while (at_ + 1 < words_.size() && !is_option(words_[at_ + 1].text) && !is_program(words_[at_ + 1].text)) {
      // an option of a launcher has one value: the program follows
      if (!section_.empty() && count == 1) break;
      const std::string& next = words_[at_ + 1].text;
      if (is_nested_assignment(next) || is_arguments(next)) break;
      if (count > 0 && is_unknown_variable(next) && !words_[at_].text.starts_with('$')) {
        script.warnings.push_back(fmt::format("{}:{}: the text that {} adds is not in the file",
                                              base_of(file_), words_[at_ + 1].line, next));
        break;
      }
      value += (count++ == 0 ? "" : " ") + words_[++at_].text;
    }
    add_setting(as_key(text), value, word.line, count == 0);
  }

  void add_setting(std::string key, std::string value, int line, bool is_switch) {
    if (!section_.empty()) key = fmt::format("{}.{}", section_, key);
    script.settings.push_back({std::move(key), std::move(value), file_, line, is_switch, command_});
  }

  const std::string& file_;
  std::vector<Word> words_;
  std::size_t at_ = 0;
  int command_ = 0;
  std::string section_;
};

}  // namespace

Script read_script(const std::string& file, std::string_view text) {
  ShellText shell = shell_words(text);
  if (!shell.problem.empty())
    throw InputError({Diagnostic{.file = file,
                                 .line = shell.problem_line,
                                 .column = 1,
                                 .key_path = {},
                                 .message = shell.problem,
                                 .hint = {},
                                 .source_line = {}}});
  Reader reader(file);
  for (const Command& command : shell.commands) reader.add(command);
  Script script = std::move(reader.script);
  for (HereDocument& document : shell.documents)
    script.files.push_back({std::move(document.target), std::move(document.text), document.line});
  for (const std::string& name : shell.decided_by_conditions)
    script.warnings.push_back(
        fmt::format("the value of ${} depends on a condition of the script, which is not followed: its last "
                    "assignment counts",
                    name));
  return script;
}

}  // namespace trainyard::jobs
