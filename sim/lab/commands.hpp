#pragma once
// The commands of `trainyard-lab`, which predicts published measurements and fits the simulator to them.

#include "cli/commands.hpp"

#include <span>

namespace trainyard {

void add_validate(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_calibrate_collectives(CLI::App& calibrate);
void add_calibrate_host(CLI::App& calibrate);
void add_calibrate_stack(CLI::App& calibrate);

std::span<const Command> lab_commands();

}  // namespace trainyard
