#pragma once
// How --help looks: 100 columns, each option's default at the end of its text.

#include <CLI/App.hpp>
#include <string>

namespace trainyard {

/// CLI11's layout with wrapped descriptions.
class HelpFormatter : public CLI::Formatter {
public:
  HelpFormatter() { column_width(28); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
};

}  // namespace trainyard
