#include "convert/commands.hpp"

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

std::span<const Command> convert_commands() { return commands; }

}  // namespace trainyard
