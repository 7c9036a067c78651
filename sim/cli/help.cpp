#include "cli/help.hpp"

#include "units/lines.hpp"

#include <sstream>
#include <utility>

namespace trainyard {

namespace {

constexpr std::string_view examples_heading = "Examples:";
const std::string example_indent = "\n  ";

/// "  name", followed by the text on the same line or, if the name is long, below it.
std::string entry(const std::string& name, const std::string& text, std::size_t column, std::size_t width) {
  std::string out = "  " + name;
  bool is_first = columns(out) + 2 <= column;
  for (const std::string& line : wrap(text, width - column)) {
    out += is_first ? std::string(column - columns(out), ' ') : '\n' + std::string(column, ' ');
    out += line;
    is_first = false;
  }
  return out + '\n';
}

/// Wrapped paragraphs; examples can still be pasted.
std::string footer_text(const std::string& footer, std::size_t width) {
  std::string text;
  constexpr std::size_t margin = 4;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool is_example = ('\n' + line).starts_with(example_indent);
    const std::size_t indent = example_indent.size() - 1;
    if (is_example)
      text += std::string(indent, ' ') + command_lines(line.substr(indent), indent, width) + '\n';
    for (const std::string& part : is_example ? std::vector<std::string>() : wrap(line, width - margin))
      text += part + '\n';
  }
  return text;
}

}  // namespace

std::string option_heading(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  const std::string name = option.get_name(false, true);
  const std::string type = option.get_type_name();
  return type.empty() ? name : name + ' ' + type;
}

std::string option_text(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += " (default: " + option.get_default_str() + ")";
  if (option.get_required() && !option.get_positional()) text += " (required)";
  return text;
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

void add_examples(CLI::App& command, std::initializer_list<std::string_view> examples,
                  std::string_view note) {
  std::string text(note);
  if (!note.empty()) text += '\n';
  text += examples_heading;
  for (const std::string_view example : examples) text += example_indent + std::string(example);
  command.footer(text);
}

std::vector<std::string> examples_of(const CLI::App& command) {
  const std::string text = command.get_footer();
  std::vector<std::string> examples;
  for (std::size_t at = text.find(example_indent); at != std::string::npos;) {
    const std::size_t begin = at + example_indent.size();
    at = text.find(example_indent, begin);
    examples.push_back(text.substr(begin, at == std::string::npos ? at : at - begin));
  }
  return examples;
}

std::string note_of(const CLI::App& command) {
  const std::string text = command.get_footer();
  const std::size_t end = text.find(examples_heading);
  return text.substr(0, end == 0 || end == std::string::npos ? end : end - 1);
}

HelpFormatter::HelpFormatter(std::size_t width) : width_(width) {
  constexpr std::size_t narrow = 80;
  column_width(width < narrow ? 16 : 28);
}

std::string HelpFormatter::make_description(const CLI::App* command) const {
  return fitted_lines(CLI::Formatter::make_description(command), width_);
}

std::string HelpFormatter::make_usage(const CLI::App* command, std::string name) const {
  return fitted_lines(CLI::Formatter::make_usage(command, std::move(name)), width_);
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool /*is_positional*/) const {
  return entry(option_heading(*option), option_text(*option), get_column_width(), width_);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description(), 14, width_);
}

std::string HelpFormatter::make_footer(const CLI::App* command) const {
  const std::string footer = command->get_footer();
  return footer_text(footer, width_);
}

}  // namespace trainyard
