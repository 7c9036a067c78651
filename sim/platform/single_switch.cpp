// One switch that never blocks, or no fabric at all.

#include "platform/fabric_definition.hpp"

namespace trainyard {
namespace {

void draw_switch(const Fabric& /*fabric*/, FabricDrawing& drawing) {
  drawing.box("fabric", "switch");
  drawing.rest("others", "other nodes");
  drawing.line("fabric", "others");
  drawing.enter("fabric");
}

}  // namespace

FabricDefinition single_switch() {
  return {.keys = {{.name = "hop_latency", .instead = "include it in latency"}},
          .read = [](const FabricFile&, int, Fabric&, config::Problems&) {},
          .network = [](const Fabric& fabric, int, int) -> Network {
            return std::make_shared<const FabricNetwork>(fabric);
          },
          .lines = [](const Fabric&, Footnotes&) { return std::string("  one switch\n"); },
          .draw = draw_switch};
}

}  // namespace trainyard
