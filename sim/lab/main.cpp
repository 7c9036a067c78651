#include "cli/cli.hpp"
#include "lab/commands.hpp"

int main(int argc, char** argv) { return trainyard::run_cli(argc, argv, trainyard::lab_commands()); }
