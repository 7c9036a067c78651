#include "cli/cli.hpp"

#include "cli/commands.hpp"
#include "cli/complete.hpp"
#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "config/suggest.hpp"
#include "units/version.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <fmt/format.h>
#include <memory>
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

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// An option or argument that the chosen command does not know.
int refuse_extra(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  const CLI::App& command = chosen.empty() ? program : *chosen.front();
  const std::vector<std::string> extras = program.remaining(true);
  const std::string word = extras.empty() ? std::string() : extras.front();
  if (!word.starts_with('-')) return refuse(fmt::format("unexpected argument '{}'", word), {}, program);
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  return refuse(fmt::format("unknown option '{}'", name), config::did_you_mean(name, names), program);
}

int parse_and_run(int argc, const char* const* argv) {
  CLI::App program("Predicts the time of a training step on a cluster of GPUs and explains what limits it.");
  add_commands(program);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == completion_question) {
    print_result(completions(program, std::vector<std::string>(argv + 2, argv + argc)));
    return exit_done;
  }
  const std::vector<std::string> commands = command_names(program);
  if (!first.empty() && !first.starts_with('-') &&
      std::find(commands.begin(), commands.end(), first) == commands.end()) {
    return refuse(fmt::format("unknown command '{}'", first), config::did_you_mean(first, commands), program);
  }
  try {
    program.parse(argc, argv);
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

void add_commands(CLI::App& program) {
  program.name("trainyard");
  program.formatter(std::make_shared<HelpFormatter>(print_style().width));
  program.set_version_flag("--version", "trainyard " + version(), "print the version");
  program.set_help_flag("-h,--help", "print this help");
  program.require_subcommand(1);
  program.footer(
      "'trainyard COMMAND --help' explains a command and gives examples. Names are looked up "
      "in $TRAINYARD_DATA, then among the shipped files. NO_COLOR=1 turns off colour. COLUMNS=80 sets the "
      "width of "
      "a page, 60 to 160 (default: the terminal's, 100 in a pipe).\n" +
      exit_codes());
  add_run(program);
  add_compare(program);
  add_explain(program);
  add_learn(program);
  add_trace(program);
  add_memory(program);
  add_model(program);
  add_topology(program);
  add_collective(program);
  add_sweep(program);
  add_plan(program);
  add_validate(program);
  add_validate_trace(program);
  add_calibrate(program);
  add_import(program);
  add_export(program);
  add_init(program);
  add_list(program);
  add_check(program);
  add_keys(program);
  add_schema(program);
  add_completion(program);
  add_manual(program);
}

int run_cli(int argc, const char* const* argv) {
  end_on_interrupt();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit is then an error, like a full disk
  try {
    return parse_and_run(argc, argv);
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
    print_message("trainyard: error: this computer has too little memory for the simulation");
    return exit_bug;
  } catch (const std::exception& error) {
    print_message(
        fmt::format("trainyard: error: {}\n  this is a bug in trainyard: please report it with the command "
                    "and its files",
                    error.what()));
    return exit_bug;
  }
}

}  // namespace trainyard
