#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"

namespace trainyard {

void add_manual(CLI::App& program) {
  CLI::App& command =
      *program.add_subcommand("manual", "print the manual page: every command, option and exit code");
  add_examples(command, {"trainyard manual > trainyard.1", "trainyard manual | man -l -"});
  command.callback([&program] { print_result(manual_page(program)); });
}

}  // namespace trainyard
