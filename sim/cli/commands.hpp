#pragma once
// The subcommands. Each function adds one with its options and help to the program; parsing the command line
// then calls it. Before that nothing is read or computed.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <string>
#include <utility>

namespace trainyard {

/// A finished validation or comparison missed its limit: exit code 1.
class LimitMissed : public std::exception {
public:
  explicit LimitMissed(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Ended by SIGINT or SIGTERM in good order, with finished results kept: exit code 130.
class Interrupted : public std::exception {
public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

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
void add_validate(CLI::App& program);
void add_validate_trace(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_calibrate_collectives(CLI::App& calibrate);
void add_calibrate_host(CLI::App& calibrate);
void add_calibrate_stack(CLI::App& calibrate);
void add_import(CLI::App& program);
void add_import_kineto(CLI::App& import);
void add_import_et(CLI::App& import);
void add_import_onnx(CLI::App& import);
void add_import_horovod(CLI::App& import);
void add_import_nsys(CLI::App& import);
void add_import_nccl_tests(CLI::App& import);
void add_import_chakra(CLI::App& import);
void add_import_astra_sim(CLI::App& import);
void add_export(CLI::App& program);
void add_export_hta(CLI::App& command_of_exports);
void add_export_chakra(CLI::App& command_of_exports);
void add_init(CLI::App& program);
void add_list(CLI::App& program);
void add_check(CLI::App& program);
void add_keys(CLI::App& program);
void add_schema(CLI::App& program);
void add_completion(CLI::App& program);
void add_manual(CLI::App& program);

/// Adds all of them, and the text of the program's own help.
void add_commands(CLI::App& program);

}  // namespace trainyard
