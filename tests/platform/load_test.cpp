#include "platform/load.hpp"

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/host_launch.hpp"
#include "platform/machines.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

/// A diagnostic at one place of a file: its names and numbers, not its words.
struct Said {
  Said(std::string key_path, const std::string& message, const std::string& hint)
      : path(std::move(key_path)), facts(facts_in(message) + " | " + facts_in(hint)) {}

  std::string path;
  std::string facts;

  friend bool operator==(const Said&, const Said&) = default;
};

struct All {
  std::vector<Said> list;

  All(std::initializer_list<Said> said) : list(said) {}
  [[nodiscard]] bool empty() const { return list.empty(); }

  friend bool operator==(const All&, const All&) = default;
  friend std::ostream& operator<<(std::ostream& out, const All& all) {
    for (const Said& said : all.list) out << "\n  " << said.path << ": " << said.facts;
    return out;
  }
};

All said(const std::vector<Diagnostic>& diagnostics, Severity severity) {
  All result{};
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == severity) {
      result.list.push_back({diagnostic.key_path, diagnostic.message, diagnostic.hint});
    }
  }
  return result;
}

All errors(const std::string& text) {
  try {
    (void)load_box(text);
  } catch (const InputError& error) {
    return said(error.diagnostics(), Severity::error);
  }
  return All{};
}

All warnings(const std::string& text) {
  std::vector<Diagnostic> found;
  (void)load_box(text, &found);
  return said(found, Severity::warning);
}

/// A box of four GPUs, an NVSwitch, two CPUs and a NIC with these link entries and `rest` after the node.
std::string box(const std::string& links, const std::string& rest = {}) {
  return "name: box\n"
         "node:\n"
         "  gpus: {count: 4, profile: some_gpu}\n"
         "  devices: {nvswitch: {count: 1}, cpu: {count: 2}, nic: {count: 1}}\n"
         "  links:\n"
         "    - {between: [\"gpu[0-3]\", nvswitch], kind: nvlink2, lanes: 6, bandwidth: 150 GB/s, latency: 1 "
         "us}\n" +
         links + rest;
}

std::string entry(const std::string& between,
                  const std::string& rest = "kind: pcie3, bandwidth: 16 GB/s, latency: 1 us") {
  return "    - {between: " + between + ", " + rest + "}\n";
}

}  // namespace

TEST_CASE("a file becomes devices, links and a fabric") {
  const Platform platform = load_box(R"(name: box
title: A box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {cpu: {count: 1, model: Xeon}, nic: {count: 1}}
  links:
    - {between: [gpu0, gpu1], kind: nvlink2, lanes: 2, bandwidth: 50 GB/s, latency: 1.5 us, source: a data sheet}
    - between: [gpu0, cpu]
      kind: pcie3
      lanes: 16
      bandwidth: {value: 128 Gbps, specified: another sheet}
      effective: {value: 12 GB/s, measured: with a stop watch}
      latency: 500 ns
    - {between: [nic, cpu], kind: pcie3, bandwidth: 16 GB/s, latency: 1 us}
  effective: {nvlink2: {value: 22.6 GB/s, fitted: to rings}}
  power: {max: 1.5 kW, overhead: {value: 400 W, assumed: fans}}
  price: {list: 1000 USD, hour: {value: 2.5 USD, measured: on a card}, date: 2020-02-29, source: a bill}
fabric: {kind: fat_tree, nic: 10 Gbps, latency: 3 us, nodes_per_leaf: 20, oversubscription: 2.5,
         gpudirect: {value: false, measured: by its absence}}
source: [a book]
)");
  CHECK(platform.name == "box");
  CHECK(platform.title == "A box");
  CHECK(platform.gpu_profile == "some_gpu");
  REQUIRE(platform.gpus.size() == 2);
  REQUIRE(platform.nics.size() == 1);
  CHECK(platform.node[platform.gpus[1]].name == "gpu1");
  CHECK(num_vertices(platform.node) == 4);
  CHECK(num_edges(platform.node) == 3);

  const Link& nvlink = platform.node[edge(platform.gpus[0], platform.gpus[1], platform.node).first];
  CHECK(nvlink.kind == LinkKind::nvlink2);
  CHECK(nvlink.lanes == 2);
  CHECK(nvlink.bandwidth == Sourced<Bandwidth>{Bandwidth(50e9), Provenance::specified, "a data sheet"});
  CHECK(nvlink.effective == Sourced<Bandwidth>{Bandwidth(45.2e9), Provenance::fitted, "to rings"});
  CHECK(nvlink.latency == Sourced<Seconds>{Seconds(1.5e-6), Provenance::specified, "a data sheet"});

  const Link& pcie = platform.node[edge(platform.gpus[0], 2, platform.node).first];
  CHECK(pcie.bandwidth == Sourced<Bandwidth>{Bandwidth(16e9), Provenance::specified, "another sheet"});
  CHECK(pcie.effective == Sourced<Bandwidth>{Bandwidth(12e9), Provenance::measured, "with a stop watch"});
  CHECK(pcie.latency == Sourced<Seconds>{Seconds(5e-7)});

  // without an effective rate, collectives reach the specification
  const Link& nic = platform.node[edge(platform.nics[0], 2, platform.node).first];
  CHECK(nic.effective == nic.bandwidth);
  CHECK(nic.lanes == 1);

  CHECK(platform.fabric.kind == FabricKind::fat_tree);
  CHECK(platform.fabric.nic.value == Bandwidth(1.25e9));
  CHECK(platform.fabric.effective == platform.fabric.nic);
  CHECK(platform.fabric.latency.value == Seconds(3e-6));
  CHECK(platform.fabric.levels.front().nodes_per_switch.value == 20);
  CHECK(platform.fabric.levels.front().oversubscription.value == 2.5);
  CHECK(platform.fabric.gpudirect == Sourced<bool>{false, Provenance::measured, "by its absence"});
  CHECK(platform.power.max->value == Watts(1500));
  CHECK(*platform.price.list == Sourced<Dollars>{Dollars(1000), Provenance::specified, "a bill"});
  CHECK(*platform.power.overhead == Sourced<Watts>{Watts(400), Provenance::assumed, "fans"});
  CHECK(*platform.price.hour == Sourced<Dollars>{Dollars(2.5), Provenance::measured, "on a card"});
  CHECK(platform.price.date == "2020-02-29");
  CHECK(platform.sources == std::vector<std::string>{"a book"});
}

TEST_CASE("a file without a fabric has nodes that stand alone") {
  CHECK(load_box(pcie_box_text).fabric.kind == FabricKind::none);
  CHECK(load_box(box("", "fabric: {kind: none}\n")).fabric.kind == FabricKind::none);
}

TEST_CASE("the name must be the file's") {
  CHECK(errors("name: bocks\nnode: {gpus: {count: 1, profile: some_gpu}}\n") ==
        All{{"name", "'bocks' box.yaml", ""}});
}

TEST_CASE("bandwidths and latencies that no machine has are errors") {
  const auto wrong = [](const std::string& figures) {
    return errors(box(entry("[gpu0, cpu0]", "kind: pcie3, " + figures)));
  };
  const std::string bandwidth = "node.links[1].bandwidth";
  const std::string rates = "1 kB/s 100 TB/s";
  CHECK(wrong("bandwidth: 0 GB/s, latency: 1 us") == All{{bandwidth, "'0 GB/s'", rates}});
  CHECK(wrong("bandwidth: -16 GB/s, latency: 1 us") == All{{bandwidth, "'-16 GB/s'", rates}});
  CHECK(wrong("bandwidth: 101 TB/s, latency: 1 us") == All{{bandwidth, "'101 TB/s'", rates}});
  const std::string latency = "node.links[1].latency";
  const std::string times = "0.001 1";  // ns, s
  CHECK(wrong("bandwidth: 16 GB/s, latency: 0 us") == All{{latency, "'0 us'", times}});
  CHECK(wrong("bandwidth: 16 GB/s, latency: -1 us") == All{{latency, "'-1 us'", times}});
  CHECK(wrong("bandwidth: 16 GB/s, latency: 1.1 s") == All{{latency, "'1.1 s'", times}});
  CHECK(wrong("bandwidth: 16 GB/s, latency: 1 us, lanes: 0") ==
        All{{"node.links[1].lanes", "'0'", "1 1024"}});
  CHECK(errors(box("", "  effective: {nvlink2: 0 GB/s}\n")) ==
        All{{"node.effective.nvlink2", "'0 GB/s'", rates}});
  CHECK(errors(box("", "fabric: {kind: fat_tree, nic: 101 TB/s, latency: 2 s}\n")) ==
        All{{"fabric.nic", "'101 TB/s'", rates}, {"fabric.latency", "'2 s'", times}});
}

TEST_CASE("a bandwidth needs a unit, in bits or in bytes") {
  CHECK(errors(box(entry("[gpu0, cpu0]", "kind: pcie3, bandwidth: 16, latency: 1 us"))) ==
        All{{"node.links[1].bandwidth", "", "16 16 GB/s"}});
}

TEST_CASE("a GPU link below 1 GB/s is probably a slip of bits and bytes") {
  CHECK(warnings(box(entry("[gpu0, cpu0]", "kind: pcie3, bandwidth: 100 Mbps, latency: 1 us"))) ==
        All{{"node.links[1].bandwidth", "12.5 MB/s", "100 12.5 GB/s"}});
  CHECK(warnings(box(entry("[nic, cpu0]", "kind: pcie3, bandwidth: 100 Mbps, latency: 1 us"))).empty());
  const std::string hint = "100 12.5 GB/s";
  CHECK(warnings(box("  effective: {nvlink2: 20 MB/s}\n")) ==
        All{{"node.effective.nvlink2", "120 MB/s", hint}});
  CHECK(warnings(
            box(entry("[nic, \"gpu[0-3]\"]"), "fabric: {kind: fat_tree, nic: 100 Mbps, latency: 2 us}\n")) ==
        All{{"fabric.nic", "12.5 MB/s", hint}});
}

TEST_CASE("the ends of a link are devices that exist") {
  const auto wrong = [](const std::string& between) { return errors(box(entry(between))); };
  CHECK(wrong("[gpu4, cpu0]") == All{{"node.links[1].between[0]", "gpu4", "gpu0 gpu3"}});
  CHECK(wrong("[\"gpu[0-7]\", cpu0]") == All{{"node.links[1].between[0]", "gpu7", "gpu0 gpu3"}});
  CHECK(wrong("[gpu0, nvswitch1]") == All{{"node.links[1].between[1]", "nvswitch1", "nvswitch0"}});
  CHECK(wrong("[gpu0, nvswich]") == All{{"node.links[1].between[1]", "'nvswich'", "'nvswitch'"}});
  CHECK(wrong("[gpu0, cpu]") == All{{"node.links[1].between[1]", "'cpu' 2", "cpu0 \"cpu[0-1]\""}});
  CHECK(wrong("[gpu0, pcie_switch]") ==
        All{{"node.links[1].between[1]", "pcie_switch", "{pcie_switch {count 1}}"}});
  CHECK(wrong("[gpu0]") == All{{"node.links[1].between", "1", "[\"gpu[0-15]\" nvswitch]"}});
  CHECK(wrong("[gpu0, cpu0, cpu1]") == All{{"node.links[1].between", "3", "[\"gpu[0-15]\" nvswitch]"}});
}

TEST_CASE("a list of devices is written one way") {
  for (const std::string text : {"gpu[0-1", "gpu[]", "gpu[1-0]", "gpu[a]", "gpu[0,]", "gpu[0-]", "gpu1x",
                                 "gpu[0-99999999999]", "gpu[0]x"}) {
    CAPTURE(text);
    CHECK(errors(box(entry("[\"" + text + "\", cpu0]"))) ==
          All{{"node.links[1].between[0]", "'" + text + "' is not a device or a list of devices",
               "gpu3 \"gpu[0-15]\" \"gpu[0,2,8-15]\""}});
  }
}

TEST_CASE("a device is not linked to itself, and two devices not twice") {
  CHECK(errors(box(entry("[cpu1, cpu1]"))) == All{{"node.links[1].between", "cpu1", ""}});
  CHECK(errors(box(entry("[nvswitch, gpu2]"))) ==
        All{{"node.links[1].between", "nvswitch0 gpu2 node.links[0]", ""}});
  CHECK(errors(box(entry("[\"gpu[0,0]\", cpu0]"))) ==
        All{{"node.links[1].between", "gpu0 cpu0 node.links[1]", ""}});
}

TEST_CASE("a list against a list joins all pairs, and against itself each pair once") {
  CHECK(num_edges(load_box(box(entry("[\"gpu[0-3]\", \"cpu[0-1]\"]"))).node) == 4 + 8);
  CHECK(num_edges(load_box(box(entry("[\"gpu[0-3]\", \"gpu[0-3]\"]"))).node) == 4 + 6);
}

TEST_CASE("lists paired in order deal the longer one out to the shorter") {
  const Platform platform = load_box(box(entry("[\"gpu[0-3]\", \"cpu[0-1]\"], pairing: in_order")));
  const auto linked = [&](std::size_t gpu, DeviceId cpu) {
    return edge(platform.gpus[gpu], cpu, platform.node).second;
  };
  const DeviceId cpu0 = 5;
  REQUIRE(platform.node[cpu0].name == "cpu0");
  CHECK(num_edges(platform.node) == 4 + 4);
  CHECK((linked(0, cpu0) && linked(1, cpu0) && linked(2, cpu0 + 1) && linked(3, cpu0 + 1)));
  CHECK(errors(box(entry("[\"gpu[0-2]\", \"cpu[0-1]\"], pairing: in_order"))) ==
        All{{"node.links[1].between", "3 2", ""}});
}

TEST_CASE("what collectives reach is not above the specification") {
  CHECK(errors(box("", "  effective: {nvlink2: 25.1 GB/s}\n")) ==
        All{{"node.effective.nvlink2", "25.1 GB/s 6 node.links[0] 150 GB/s", ""}});
  CHECK(errors(box(
            entry("[gpu0, cpu0]", "kind: pcie3, bandwidth: 16 GB/s, latency: 1 us, effective: 17 GB/s"))) ==
        All{{"node.links[1].effective", "17 GB/s link's 16 GB/s", ""}});
  CHECK(errors(box(entry("[nic, cpu0]"),
                   "fabric: {kind: fat_tree, nic: 10 Gbps, efficiency: 1.1, latency: 2 us}\n")) ==
        All{{"fabric.efficiency", "'1.1'", "0 1"}});
}

TEST_CASE("a fabric's efficiency scales the NIC's rate and brings its own source") {
  const std::string fabric =
      "fabric: {kind: fat_tree, nic: {value: 10 Gbps, specified: a sheet}, latency: 2 us%}\n";
  const auto effective = [&](const std::string& efficiency) {
    std::string text = fabric;
    text.replace(text.find('%'), 1, efficiency);
    return load_box(box(entry("[nic, cpu0]"), text)).fabric.effective;
  };
  CHECK(effective("") == Sourced<Bandwidth>{Bandwidth(1.25e9), Provenance::specified, "a sheet"});
  CHECK(effective(", efficiency: {value: 0.5, assumed: a guess}") ==
        Sourced<Bandwidth>{Bandwidth(0.625e9), Provenance::assumed, "a guess"});
}

TEST_CASE("an effective rate for a kind of link that is not there has no effect, and says so") {
  CHECK(warnings(box("", "  effective: {xbus: 25 GB/s}\n")) == All{{"node.effective.xbus", "", ""}});
}

TEST_CASE("a factor for links that a node lacks is a warning, and not a what-if") {
  CHECK(warnings(box("", "  speed: {pcie: 2, nvlink: 2, sockets: 1}\n")) ==
        All{{"node.speed.pcie", "node.speed.pcie", ""}});
  CHECK(warnings(box("", "  speed: {sockets: 0.5}\n")) ==
        All{{"node.speed.sockets", "node.speed.sockets", ""}});
  const LinkSpeeds speeds = load_box(box("", "  speed: {pcie: 2, nvlink: 3}\n")).speeds;
  CHECK(speeds.pcie == 1);
  CHECK(speeds.nvlink == 3);
}

TEST_CASE("a fabric needs its figures and a NIC") {
  CHECK(errors(box("", "fabric: {kind: fat_tree}\n")) ==
        All{{"fabric.nic", "'nic'", "100 12.5 GB/s"}, {"fabric.latency", "'latency'", "2"}});
  CHECK(errors("name: box\nnode: {gpus: {count: 1, profile: some_gpu}}\n"
               "fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us}\n") ==
        All{{"fabric", "", "node.devices {nic {count 1}}"}});
  CHECK(errors(box("", "fabric: {kind: fat_tre, nic: 100 Gbps, latency: 2 us}\n")) ==
        All{{"fabric.kind", "'fat_tre'", "'fat_tree'"}});
}

TEST_CASE("data that goes through host memory needs a host") {
  const auto text = [](const std::string& devices, const std::string& links) {
    return "name: box\nnode:\n  gpus: {count: 1, profile: some_gpu}\n  devices: {nic: {count: 1}" + devices +
           "}\n  links:\n" + links +
           "fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us, gpudirect: false}\n";
  };
  const std::string x16 = ", kind: pcie3, bandwidth: 16 GB/s, latency: 1 us}\n";
  const std::string direct = "    - {between: [gpu0, nic]" + x16;
  CHECK(errors(text("", direct)) == All{{"fabric.gpudirect", "", "node.devices {cpu {count 1}}"}});
  CHECK(warnings(text(", cpu: {count: 1}", direct)) == All{{"node.links", "gpu0", ""}});
}

TEST_CASE("two NVSwitches that join the same GPUs draw a warning: messages take one of them") {
  const auto text = [](const std::string& second) {
    return "name: box\nnode:\n  gpus: {count: 4, profile: some_gpu}\n  devices: {nvswitch: {count: 2}}\n"
           "  links:\n"
           "    - {between: [\"gpu[0-3]\", nvswitch0], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}\n"
           "    - {between: [\"" +
           second + "\", nvswitch1], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}\n";
  };
  CHECK(warnings(text("gpu[2-3]")) == All{{"node.links", "gpu2 gpu3 nvswitch0 nvswitch1", ""}});
  CHECK(warnings(text("gpu3")).empty());
}

TEST_CASE("a price has a date") {
  for (const std::string date :
       {"2018", "2018-13", "2018-00", "2018-3", "2018-03-32", "March 18", "2018/03"}) {
    CAPTURE(date);
    CHECK(errors(box("", "  price: {list: 5 USD, date: " + date + "}\n")) ==
          All{{"node.price.date", "'" + date + "' is not a date", "2018-03 2018-03-27"}});
    CHECK(errors(box("", "  price: {list: 5 USD, date: 2020-02, list_date: " + date + "}\n")) ==
          All{{"node.price.list_date", "'" + date + "' is not a date", "2018-03 2018-03-27"}});
  }
  CHECK(errors(box("", "  price: {hour: 5 USD, date: 2020-02, list_date: 2018-03}\n")) ==
        All{{"node.price.list_date", "list price", "'list'"}});
  CHECK(errors(box("", "  price: {list: 9 USD, hour: 5 USD, date: 2020-02, list_date: 2018-03}\n")).empty());
}

TEST_CASE("a price says what it is for, and a power too") {
  CHECK(errors(box("", "  price: {date: 2018-03}\n")) ==
        All{{"node.price", "'price' 'list' 'hour'", "24.48 399000"}});
  CHECK(errors(box("", "  power: {}\n")) == All{{"node.power", "'power' 'max' 'overhead'", "3.5 1"}});
  CHECK(errors(box("", "  power: {max: 1 kW, overhead: 1 kW}\n")) ==
        All{{"node.power.overhead", "1 node's 1", ""}});
  CHECK(errors(box("", "  power: {overhead: 0 W}\n  price: {hour: 5 USD, date: 2018-03}\n")).empty());
}

TEST_CASE("a GPU that nothing reaches is a warning: the machine can be drawn, and used with fewer ranks") {
  const std::string text =
      "name: box\nnode:\n  gpus: {count: 3, profile: some_gpu}\n"
      "  links: [{between: [gpu0, gpu1], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}]\n";
  CHECK(warnings(text) == All{{"node.links", "gpu2 gpu0", ""}});
}

TEST_CASE("GPUs that cannot reach a NIC are a warning where there is a fabric") {
  const std::string fabric = "fabric: {kind: fat_tree, nic: 100 Gbps, latency: 2 us}\n";
  CHECK(warnings(box(entry("[\"gpu[0-2]\", cpu0]") + entry("[nic, cpu0]"), fabric)) ==
        All{{"node.links", "gpu3", ""}});
  CHECK(warnings(box(entry("[\"gpu[0-3]\", cpu0]") + entry("[nic, cpu0]"), fabric)).empty());
}

TEST_CASE("all errors of a file come at once, in the order of the text, with their positions") {
  try {
    (void)load_box(
        "name: bx\nnode:\n  gpus: {count: 0, profile: p}\n  links:\n"
        "    - {between: [gpu0, gpu1], kind: nvlnk2, bandwidth: 25, latency: 1 us}\n  extra: 1\n");
    FAIL("no error");
  } catch (const InputError& error) {
    std::string places;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      places += fmt::format("{}:{} {}\n", diagnostic.line, diagnostic.column, diagnostic.key_path);
    }
    CHECK(places ==
          "1:7 name\n3:17 node.gpus.count\n5:37 node.links[0].kind\n5:56 node.links[0].bandwidth\n6:3 "
          "node.extra\n");
  }
}

TEST_CASE("a host launches as its file says, otherwise as machines of its year do") {
  const auto with = [](const std::string& keys, const std::string& rest = {}) {
    return host_launch(load_box(box("  host: " + keys + "\n", rest)));
  };
  const Sourced<double> stated = with("{launch: {value: 0.79, measured: costs.csv}}");
  CHECK(stated.value == 0.79);
  CHECK(stated.provenance == Provenance::measured);
  CHECK(with("{launch: 2}").value == 2);
  CHECK(errors(box("  host: {launch: 0}\n")) == All{{"node.host.launch", "'0'", "0.01 100"}});
  const auto of_year = [](const std::string& year) { return host_launch(load_box(box("", year))); };
  CHECK(of_year("").value == 1);
  CHECK(of_year("year: 2022\n").value == 1);
  CHECK(of_year("year: 2017\n").value == doctest::Approx(1.035 * 1.035 * 1.035 * 1.035 * 1.035));
  CHECK(of_year("year: 2024\n").value < 1);
  CHECK(of_year("year: 2024\n").provenance == Provenance::assumed);
}
