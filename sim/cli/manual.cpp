#include "cli/manual.hpp"

#include "cli/help.hpp"

#include <array>
#include <fmt/format.h>
#include <vector>

namespace trainyard {

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

namespace {

/// "calibrate gpu".
std::string words_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  if (parent == nullptr) return {};
  const std::string before = words_of(*parent);
  return (before.empty() ? before : before + ' ') + command.get_name();
}

/// "trainyard collective OP --platform PLATFORM [OPTION...]".
std::string usage(const CLI::App& command) {
  std::string line = "trainyard " + words_of(command);
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

}  // namespace

std::string manual_section(const CLI::App& command, SectionOfOther other) {
  const OtherCommand* const elsewhere = other == nullptr ? nullptr : other_command(words_of(command));
  if (elsewhere != nullptr) return other(*elsewhere);
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
  for (const CLI::App* each : commands_of(command)) text += manual_section(*each, other);
  return text;
}

}  // namespace trainyard
