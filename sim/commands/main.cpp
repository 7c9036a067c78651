#include "cli/cli.hpp"
#include "cli/other_commands.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) {
  using namespace trainyard;
  const OtherCommand* const other = other_command(argc, argv);
  return other != nullptr ? start(*other, argv) : run_cli(argc, argv, all_commands());
}
