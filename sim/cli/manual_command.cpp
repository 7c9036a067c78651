// The manual page, generated from the commands, so that it always agrees with --help.

#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/terminal.hpp"
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

/// Text escaped so that troff prints it unchanged. Every "-" can be copied into a shell.
std::string troff(std::string_view text) {
  constexpr std::string_view special = "\\-'\"`^~";
  constexpr std::array<std::string_view, special.size()> escapes{"\\e",   "\\-",   "\\(aq", "\\(dq",
                                                                 "\\(ga", "\\(ha", "\\(ti"};
  std::string out;
  for (const char c : text) {
    const std::size_t at = special.find(c);
    out += at == std::string_view::npos ? std::string_view(&c, 1) : escapes[at];
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string tagged(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n.B \"{}\"\n{}\n", troff(tag), troff(text));
}

/// "trainyard calibrate gpu".
std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + ' ') + command.get_name();
}

/// "trainyard collective OP --platform PLATFORM [OPTION...]".
std::string usage(const CLI::App& command) {
  std::string line = full_name(command);
  const bool has_commands = !commands_of(command).empty();
  if (has_commands) return line + " COMMAND ...";
  bool has_options = false;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_argument = option->get_positional();
    std::string name = option->get_name();
    if (!is_argument && !option->get_type_name().empty()) name += ' ' + option->get_type_name();
    if (is_argument && option->get_items_expected_max() > 1) name += "...";
    if (option->get_required() || is_argument) {
      line += option->get_required() ? ' ' + name : " [" + name + ']';
    } else {
      has_options = has_options || option != command.get_help_ptr();
    }
  }
  return line + (has_options ? " [OPTION]..." : "");
}

std::string section_of(const CLI::App& command) {
  std::string text = fmt::format(".SS \"{}\"\n{}\n", troff(usage(command)), troff(command.get_description()));
  if (const std::string note = note_of(command); !note.empty()) text += ".PP\n" + troff(note) + '\n';
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    text += tagged(option_heading(*option), option_text(*option));
  }
  const std::vector<std::string> examples = examples_of(command);
  if (!examples.empty())
    text += examples.size() == 1 ? ".PP\nExample:\n.PP\n.EX\n" : ".PP\nExamples:\n.PP\n.EX\n";
  for (const std::string& example : examples) text += "    " + troff(example) + '\n';
  if (!examples.empty()) text += ".EE\n";
  for (const CLI::App* each : commands_of(command)) text += section_of(*each);
  return text;
}

/// trainyard(1) in the language of man(7): every command with its arguments, options and examples, then exit
/// codes, environment and files. ASCII.
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
  for (const CLI::App* command : commands_of(program)) text += section_of(*command);
  text += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_meanings) text += tagged(std::to_string(exit.code), exit.text);
  text += ".SH ENVIRONMENT\n";
  for (const NamedText& entry : variables_used) text += tagged(entry.name, entry.text);
  text += ".SH FILES\nIn $TRAINYARD_DATA and in share/trainyard next to the program's folder:\n";
  for (const NamedText& entry : folders_used) text += tagged(entry.name, entry.text);
  text +=
      ".SH SEE ALSO\n.BR dot (1),\n.BR jq (1)\n.br\nThe formats of all files are described in "
      "platforms/README.md "
      "and workloads/README.md there.\n";
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
