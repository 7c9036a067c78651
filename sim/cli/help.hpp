#pragma once
// Layout of --help: as wide as the page, each option's default at the end of its text, and examples at the
// very end.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// CLI11's layout with wrapped descriptions.
class HelpFormatter : public CLI::Formatter {
public:
  explicit HelpFormatter(std::size_t width);

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_usage(const CLI::App* command, std::string name) const override;

private:
  std::size_t width_;
};

/// "EXPERIMENT", "-o,--out FILE".
std::string option_heading(const CLI::Option& option);

/// The description with the default, or that the option is required.
std::string option_text(const CLI::Option& option);

/// The commands that help names, in the order they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

/// Ends a command's help with `note`, if there is one, and commands to copy: at least two that work
/// unchanged, each a line of up to 96 columns.
void add_examples(CLI::App& command, std::initializer_list<std::string_view> examples,
                  std::string_view note = {});

/// The examples given to add_examples.
std::vector<std::string> examples_of(const CLI::App& command);
std::string note_of(const CLI::App& command);

}  // namespace trainyard
