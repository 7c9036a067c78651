#include "cli/cli.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "units/version.hpp"

#include <array>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

struct NamedText {
  std::string_view name, text;
};

constexpr std::array variables_used{
    NamedText{"TRAINYARD_DATA",
              "A folder with platforms/ and workloads/. Names are looked up there first, then among the "
              "shipped files."},
    NamedText{"NO_COLOR", "Turns off colour if it is set and not empty (no-color.org)."},
    NamedText{"COLUMNS",
              "The width of pages in columns, 60 to 160; otherwise that of the terminal, or 100 in a pipe."},
    NamedText{"TERM", "Turns off colour if it is not set, or dumb."}};

constexpr std::array folders_used{
    NamedText{"platforms/, platforms/gpus/", "Machines and profiles of their GPUs."},
    NamedText{
        "platforms/protocols/, workloads/published/machines/",
        "Constants of NCCL's protocols, and rules that recognise the machines of published measurements."},
    NamedText{"workloads/models/, workloads/stacks/, workloads/experiments/, workloads/sweeps/",
              "Models, software stacks, experiments and sweeps."},
    NamedText{"workloads/published/runs/", "Rules that find the model and software of published runs."}};

/// trainyard(1) in the language of man(7): every command with its arguments, options and examples, then exit
/// codes, environment and files. ASCII. Throws FileError if a program of other commands is missing.
std::string manual_page(const CLI::App& program) {
  // No date: the same program prints the same page.
  std::string text = fmt::format(".TH TRAINYARD 1 \"\" \"trainyard {}\" \"User Commands\"\n", version());
  text += ".nh\n.ad l\n";  // names of options and files must not be broken
  text += ".SH NAME\ntrainyard \\- simulator of distributed deep-learning training\n";
  text += ".SH SYNOPSIS\n.B trainyard\n.I COMMAND\n[\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n";
  text += ".SH DESCRIPTION\n" + troff(program.get_description()) +
          "\nResults go to standard output, progress and warnings to standard error. Nothing is overwritten "
          "without\n.BR \\-\\-force .\n";
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : program.get_options())
    text += tagged(option_heading(*option), option_text(*option));
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(program)) text += manual_section(*command, manual_section_of);
  text += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_meanings) text += tagged(std::to_string(exit.code), exit.text);
  text += ".SH ENVIRONMENT\n";
  for (const NamedText& entry : variables_used) text += tagged(entry.name, entry.text);
  text += ".SH FILES\nIn $TRAINYARD_DATA and in share/trainyard next to the program's folder:\n";
  for (const NamedText& entry : folders_used) text += tagged(entry.name, entry.text);
  text +=
      ".SH SEE ALSO\n.BR dot (1),\n.BR jq (1)\n.br\nThe formats of all files are described in "
      "platforms/README.md, "
      "workloads/README.md and docs/ there.\n";
  return text;
}

}  // namespace

void add_manual(CLI::App& program) {
  CLI::App& command =
      *program.add_subcommand("manual", "print the manual page: every command, option and exit code");
  add_examples(command, {"trainyard manual > trainyard.1", "trainyard manual | man -l -"});
  command.callback([&program] { print_result(manual_page(program)); });
}

}  // namespace trainyard
