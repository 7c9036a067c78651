#pragma once
// The commands of `trainyard-convert`, which reads and writes the files of other tools.

#include "cli/commands.hpp"

#include <span>

namespace trainyard {

void add_validate_trace(CLI::App& program);
void add_import(CLI::App& program);
void add_import_kineto(CLI::App& import);
void add_import_et(CLI::App& import);
void add_import_job(CLI::App& import);
void add_import_onnx(CLI::App& import);
void add_import_horovod(CLI::App& import);
void add_import_nsys(CLI::App& import);
void add_import_nccl_tests(CLI::App& import);
void add_import_chakra(CLI::App& import);
void add_import_astra_sim(CLI::App& import);
void add_export(CLI::App& program);
void add_export_hta(CLI::App& command_of_exports);
void add_export_chakra(CLI::App& command_of_exports);
void add_export_simgrid(CLI::App& command_of_exports);
void add_init_platform(CLI::App& init);

std::span<const Command> convert_commands();

}  // namespace trainyard
