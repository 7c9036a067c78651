#include "cli/help.hpp"

#include "report/text_layout.hpp"

namespace trainyard {

namespace {

constexpr std::size_t page = 100;

/// "  name", and the text beside it or, if the name is long, below it.
std::string entry(const std::string& name, const std::string& text, std::size_t column) {
  std::string out = "  " + name;
  bool is_first = columns(out) + 2 <= column;
  for (const std::string& line : wrap(text, page - column)) {
    out += is_first ? std::string(column - columns(out), ' ') : '\n' + std::string(column, ' ');
    out += line;
    is_first = false;
  }
  return out + '\n';
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string name = make_option_name(option, is_positional);
  return entry(is_positional ? name : name + make_option_opts(option), make_option_desc(option),
               get_column_width());
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_size() == 0 ? "" : option->get_type_name();
  return type.empty() ? "" : ' ' + type;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
  if (option->get_required() && !option->get_positional()) text += " (required)";
  return text;
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return entry(command->get_name(), command->get_description(), 14);
}

std::string HelpFormatter::make_footer(const CLI::App* command) const {
  const std::string footer = command->get_footer();
  return footer.empty() ? "" : footer + '\n';
}

}  // namespace trainyard
