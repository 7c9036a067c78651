#include "commands/commands.hpp"

#include "cli/other_commands.hpp"

namespace trainyard {

namespace {

constexpr Command commands[] = {{"run", add_run},
                                {"compare", add_compare},
                                {"explain", add_explain},
                                {"learn", add_learn},
                                {"trace", add_trace},
                                {"memory", add_memory},
                                {"model", add_model},
                                {"topology", add_topology},
                                {"collective", add_collective},
                                {"sweep", add_sweep},
                                {"plan", add_plan},
                                {"validate", add_other<validate_command>},
                                {"validate-trace", add_other<validate_trace_command>},
                                {"calibrate", add_other<calibrate_command>},
                                {"import", add_other<import_command>},
                                {"export", add_other<export_command>},
                                {"init", add_init},
                                {"list", add_list},
                                {"check", add_check},
                                {"keys", add_keys},
                                {"schema", add_schema},
                                {"completion", add_completion},
                                {"manual", add_manual, true}};

}  // namespace

std::span<const Command> all_commands() { return commands; }

}  // namespace trainyard
