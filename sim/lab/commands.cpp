#include "lab/commands.hpp"

namespace trainyard {

namespace {

constexpr Command commands[] = {{"validate", add_validate}, {"calibrate", add_calibrate}};

}  // namespace

std::span<const Command> lab_commands() { return commands; }

}  // namespace trainyard
