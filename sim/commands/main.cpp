#include "cli/cli.hpp"
#include "cli/other_commands.hpp"
#include "commands/commands.hpp"

int main(int argc, char** argv) {
  const trainyard::OtherCommand* const other = trainyard::other_command(argc, argv);
  return other != nullptr ? start(*other, argv) : trainyard::run_cli(argc, argv, trainyard::all_commands());
}
