#include "cli/help.hpp"
#include "cli/other_commands.hpp"
#include "convert/commands.hpp"

namespace trainyard {

void add_import(CLI::App& program) {
  CLI::App& command = add_command(program, import_command);
  command.require_subcommand(1);
  add_examples(command,
               {"trainyard import kineto worker0.pt.trace.json -o a.csv", "trainyard import kineto --help"});
  add_import_kineto(command);
  add_import_nsys(command);
  add_import_et(command);
  add_import_onnx(command);
  add_import_horovod(command);
  add_import_nccl_tests(command);
  add_import_chakra(command);
  add_import_astra_sim(command);
}

}  // namespace trainyard
