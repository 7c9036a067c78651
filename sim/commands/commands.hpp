#pragma once
// The commands of `trainyard` itself.

#include "cli/commands.hpp"

#include <span>

namespace trainyard {

void add_run(CLI::App& program);
void add_trace(CLI::App& program);
void add_compare(CLI::App& program);
void add_explain(CLI::App& program);
void add_learn(CLI::App& program);
void add_memory(CLI::App& program);
void add_model(CLI::App& program);
void add_topology(CLI::App& program);
void add_collective(CLI::App& program);
void add_sweep(CLI::App& program);
void add_plan(CLI::App& program);
void add_init(CLI::App& program);
void add_list(CLI::App& program);
void add_check(CLI::App& program);
void add_keys(CLI::App& program);
void add_schema(CLI::App& program);
void add_completion(CLI::App& program);
void add_manual(CLI::App& program);

/// All commands in the order of help, those of the other programs among them.
std::span<const Command> all_commands();

}  // namespace trainyard
