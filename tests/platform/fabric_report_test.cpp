// Text and drawing of every kind of fabric in `trainyard topology`.

#include "platform/fabric_report.hpp"

#include "platform/fabrics.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

std::string report_of(const std::string& fabric, int nics = 1) {
  Footnotes notes;
  return fabric_lines(machine_on(fabric, nics), notes);
}

std::string drawing_of(const std::string& fabric, int nics = 1) {
  return fabric_dot(machine_on(fabric, nics), "blue");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the report tells the shape of every fabric") {
  CHECK(report_of(single_switch_text) ==
        "  one switch\n  transport infiniband\n  NICs access GPU memory directly (GPUDirect) [1]\n");
  CHECK(report_of(two_levels_text)
            .starts_with("  leaf switches of 2 nodes [1], oversubscription 2 [1]\n"
                         "  spine switches of 4 nodes [1], oversubscription 3 [1]\n"
                         "  each link between switches or routers adds 100 ns [1]\n"));
  CHECK(report_of(rails_text, 2)
            .starts_with("  one switch per NIC number, shared by 4 [1] nodes, oversubscription 2 [1]\n"
                         "  data for another rail goes over NVLink to the GPU near its NIC (PXN) [1]\n"));
  CHECK(
      report_of(torus3d_text).starts_with("  3 x 2 x 4 routers, one per node, with links of 10 GB/s [1]\n"));
  CHECK(report_of(dragonfly_text)
            .starts_with("  5 [1] groups of 4 [1] routers with 2 [1] nodes each\n"
                         "  links of 5 GB/s [1] between routers of a group, 20 GB/s [1] between groups\n"));
  CHECK(has(report_of(dragonfly_text), "  transport aries\n"));
  const std::string custom = report_of(custom_text);
  CHECK(custom.starts_with("  5 switches, 9 links, 6 nodes\n  node0.nic0 - leaf0: 12.5 GB/s [1], 0 s\n"));
  CHECK(has(custom, "  leaf1 - spine1: 25 GB/s [1], 300 ns\n"));
}

TEST_CASE("the report names the cap of one connection") {
  const std::string text =
      "  {kind: single_switch, transport: tcp, nic: 100 Gbps, latency: 2 us, per_flow: {value: 1 GB/s, "
      "measured: here}}\n";
  CHECK(has(report_of(text), "  transport tcp, at most 1 GB/s [1] per connection\n"));
}

TEST_CASE("the drawing joins every NIC to its switch or router") {
  CHECK(has(drawing_of(single_switch_text), "  nic0 -> fabric [color=\"blue\""));
  const std::string tree = drawing_of(two_levels_text);
  CHECK(has(tree, "  nic0 -> level0_0 [color"));
  CHECK(has(tree, "  level0_1 -> level1_0 [color=\"blue\", label=\"2 : 1\"]"));
  CHECK(has(tree, "  level1_0 -> core [color=\"blue\", label=\"3 : 1\"]"));
  const std::string rails = drawing_of(rails_text, 2);
  CHECK(has(rails, "  nic1 -> rail1 [color"));
  CHECK(has(rails, "  rail0 -> spine [color"));
  const std::string torus = drawing_of(torus2d_text);
  CHECK(has(torus, "  nic0 -> router0_0 [color"));
  CHECK(has(torus, "  router2_3 -> router3_3 [color"));
  CHECK(has(torus, "edge0 [label=\"...\""));      // five along x, four drawn
  CHECK(has(torus, "below0 [label=\"around\""));  // four along y
  const std::string dragonfly = drawing_of(dragonfly_text);
  CHECK(has(dragonfly, "  nic0 -> router0 [color"));
  CHECK(has(dragonfly, "... 5 groups"));
  const std::string custom = drawing_of(custom_text);
  CHECK(has(custom, "  nic0 -> switch0 [color"));
  CHECK(has(custom, "  switch1 -> switch4 [color"));
  CHECK(has(custom, "nodes1 [label=\"2 nodes\""));
}
