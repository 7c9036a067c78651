#include "convert/commands.hpp"

#include "cli/help.hpp"
#include "cli/other_commands.hpp"

namespace trainyard {

namespace {

void add_init_with_platform(CLI::App& program) {
  CLI::App& init = *program.add_subcommand("init", "write a first platform of your own");
  init.require_subcommand(1);
  add_init_platform(init);
}

constexpr Command commands[] = {{"validate-trace", add_validate_trace},
                                {"import", add_import},
                                {"export", add_export},
                                {"init", add_init_with_platform}};

}  // namespace

void add_import(CLI::App& program) {
  CLI::App& command = add_command(program, import_command);
  command.require_subcommand(1);
  add_examples(command,
               {"trainyard import kineto worker0.pt.trace.json -o a.csv", "trainyard import kineto --help"});
  add_import_kineto(command);
  add_import_nsys(command);
  add_import_et(command);
  add_import_job(command);
  add_import_onnx(command);
  add_import_horovod(command);
  add_import_nccl_tests(command);
  add_import_chakra(command);
  add_import_astra_sim(command);
}

std::span<const Command> convert_commands() { return commands; }

}  // namespace trainyard
