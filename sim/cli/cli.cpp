#include "cli/cli.hpp"

#include "cli/commands.hpp"
#include "cli/complete.hpp"
#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/key_options.hpp"
#include "cli/large_pages.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "config/suggest.hpp"
#include "run/child_processes.hpp"
#include "units/version.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// "0 done, 1 a limit was missed, ...": the end of the program's help.
std::string exit_codes() {
  std::string text = "Exit codes:";
  for (const ExitMeaning& exit : exit_meanings)
    text += fmt::format("{} {} {}", exit.code == exit_done ? "" : ",", int{exit.code}, exit.text);
  return text + '.';
}

int refuse(std::string_view problem, std::string_view hint, const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  print_message(fmt::format("trainyard: error: {}", problem));
  if (!hint.empty()) print_message(fmt::format("  {}", hint));
  print_message(
      fmt::format("  See 'trainyard {}--help'.", chosen.empty() ? "" : chosen.front()->get_name() + " "));
  return exit_wrong_command_line;
}

using Commands = std::span<const Command>;

const Command* find_command(Commands commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

std::vector<std::string> command_names(Commands commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.emplace_back(command.name);
  return names;
}

/// The parts of the program's help besides its commands.
void describe(CLI::App& program) {
  program.name("trainyard");
  program.formatter(std::make_shared<HelpFormatter>(print_style().width));
  program.set_version_flag("--version", "trainyard " + version(), "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.require_subcommand(1);
  program.footer(
      "'trainyard COMMAND --help' explains a command and gives examples. Names are looked up "
      "in $TRAINYARD_DATA, then among the shipped files. NO_COLOR=1 turns off colour. COLUMNS=80 sets the "
      "width of a page, 60 to 160 (default: the terminal's, 100 in a pipe).\n" +
      exit_codes());
}

/// Adds the commands and options that this command line needs. Adding the options of all commands would take
/// half of the start-up time.
void add_needed(CLI::App& program, Commands commands, std::string_view first) {
  const Command* chosen = find_command(commands, first);
  if (chosen != nullptr && !chosen->needs_all) {
    describe(program);
    chosen->add(program);
  } else if (first == "--version") {
    describe(program);
  } else {
    add_commands(program, commands);
  }
}

/// An option or argument that the chosen command does not know.
int refuse_extra(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  const CLI::App& command = chosen.empty() ? program : *chosen.front();
  const std::vector<std::string> extras = program.remaining(true);
  const std::string word = extras.empty() ? std::string() : extras.front();
  if (!word.starts_with('-')) return refuse(fmt::format("unexpected argument '{}'", word), {}, program);
  const std::string name = word.substr(0, word.find('='));
  return refuse(fmt::format("unknown option '{}'", name), advice_on_option(command, name), program);
}

/// The part of the manual page about the command of these words.
std::string section_of(CLI::App& program, std::span<const char* const> words) {
  CLI::App* command = &program;
  for (const char* word : words) command = command->get_subcommand(word);
  return manual_section(*command);
}

/// The order in which CLI11 takes words.
std::vector<std::string> last_first(std::vector<std::string> words) {
  std::ranges::reverse(words);
  return words;
}

int parse_and_run(int argc, const char* const* argv, Commands commands) {
  CLI::App program(
      find_command(commands, "run") != nullptr
          ? "Predicts the time of a training step on a cluster of GPUs and explains what limits it."
          : "The commands of trainyard that this program carries out: type 'trainyard COMMAND'.");
  const std::string first = argc > 1 ? argv[1] : "";
  add_needed(program, commands, first);
  if (first == completion_question) {
    print_result(completions(program, std::vector<std::string>(argv + 2, argv + argc)));
    return exit_done;
  }
  if (!first.empty() && !first.starts_with('-') && first != manual_question &&
      find_command(commands, first) == nullptr)
    return refuse(fmt::format("unknown command '{}'", first),
                  config::did_you_mean(first, command_names(commands)), program);
  try {
    if (first == manual_question)
      print_result(section_of(program, {argv + 2, argv + argc}));
    else
      program.parse(last_first(with_settings(program, {argv + std::min(argc, 1), argv + argc})));
  } catch (const CLI::CallForHelp&) {
    print_result(program.help());
  } catch (const CLI::CallForVersion& version) {
    print_result(std::string(version.what()) + "\n");
  } catch (const CLI::ExtrasError&) {
    return refuse_extra(program);
  } catch (const CLI::RequiredError& error) {
    if (!program.remaining(true).empty()) return refuse_extra(program);
    return refuse(argc > 1 ? error.what() : "a command is missing", {}, program);
  } catch (const CLI::Error& error) {
    return refuse(error.what(), {}, program);
  }
  return exit_done;
}

}  // namespace

void add_commands(CLI::App& program, Commands commands) {
  describe(program);
  for (const Command& command : commands) command.add(program);
}

int run_cli(int argc, const char* const* argv, Commands commands) {
  end_on_interrupt();
  end_on_abort();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit is then an error, like a full disk
  try {
    use_large_pages();
    return parse_and_run(argc, argv, commands);
  } catch (const InputError& error) {
    print_diagnostics(error.diagnostics());
    return exit_wrong_input;
  } catch (const LimitMissed& error) {
    print_message(fmt::format("trainyard: {}", error.what()));
    return exit_limit_missed;
  } catch (const Interrupted&) {
    return exit_interrupted;
  } catch (const JobImpossible& error) {
    print_message(fmt::format("trainyard: error: {}", error.what()));
    return exit_job_impossible;
  } catch (const FileError& error) {
    print_message(fmt::format("trainyard: error: {}", error.what()));
    return exit_file;
  } catch (const std::bad_alloc&) {
    print_message(fmt::format("trainyard: error: {}", too_little_memory));
    return exit_job_impossible;
  } catch (const std::exception& error) {
    print_message(
        fmt::format("trainyard: error: {}\n  this is a bug in trainyard: please report it with the command "
                    "and its files",
                    error.what()));
    return exit_bug;
  }
}

}  // namespace trainyard
