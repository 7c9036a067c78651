#include "cli/cli.hpp"
#include "convert/commands.hpp"

int main(int argc, char** argv) { return trainyard::run_cli(argc, argv, trainyard::convert_commands()); }
