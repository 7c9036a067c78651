#pragma once
// The subcommands. Each function adds one with its options and help to the program; parsing the command line
// then calls it. Nothing is read and nothing is computed before that.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace trainyard {

void add_run(CLI::App& program);
void add_trace(CLI::App& program);
void add_memory(CLI::App& program);
void add_model(CLI::App& program);
void add_topology(CLI::App& program);
void add_collective(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_list(CLI::App& program);
void add_check(CLI::App& program);
void add_schema(CLI::App& program);

}  // namespace trainyard
