#include "config/read.hpp"

#include "config/samples.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::config;

TEST_CASE("every field type is read") {
  const Yard yard = read<Yard>(parse("yard.yaml", R"(
title: the yard
links:
  - {name: nvlink, bandwidth: 150 GB/s, latency: 1.2 us, lanes: 6}
  - name: nic
    bandwidth: {value: 100 Gbps, specified: "data sheet, 2018-03"}
colour: blue
share: 0.25
open: false
gpus: 1e3
samples: 9000000000
memory: 32 GiB
sizes: [64, 128, 256]
power: {idle: {value: 50 W, assumed: no figure published}, max: 300 W}
peak: 125 TFLOP/s
work: 4.089 GFLOP
energy: 3 kJ
price: 399000 USD
)"));
  CHECK(yard == Yard{.title = "the yard",
                     .links = {{"nvlink", {Bandwidth(150e9)}, Seconds(1.2e-6), 6},
                               {"nic", {Bandwidth(12.5e9), Provenance::specified, "data sheet, 2018-03"}}},
                     .colour = Colour::blue,
                     .share = 0.25,
                     .open = false,
                     .gpus = 1000,
                     .samples = 9'000'000'000,
                     .memory = Bytes(34359738368.0),
                     .sizes = {64, 128, 256},
                     .power = {{"idle", {Watts(50), Provenance::assumed, "no figure published"}},
                               {"max", {Watts(300)}}},
                     .peak = FlopRate(125e12),
                     .work = Flops(4.089e9),
                     .energy = Joules(3000),
                     .price = Dollars(399000)});
}

TEST_CASE("what is left out keeps the default of the member") {
  CHECK(read<Yard>(parse("yard.yaml", "title: x\n")) == Yard{.title = "x"});
}

TEST_CASE("all errors of a file come at once, each with line, caret and hint") {
  CHECK(errors_of("title: \"gr\u00fcn\"\n"
                  "links:\n"
                  "  - {name: \u00e4, bandwith: 100 GB/s, lanes: 0}\n"
                  "  - {name: \u00e9\u00e9, bandwidth: 100, latency: 2 us}\n"
                  "coluor: red\n") ==
        "yard.yaml:3:5: error: key 'bandwidth' is missing (in links[0].bandwidth)\n"
        "  3 |   - {name: \u00e4, bandwith: 100 GB/s, lanes: 0}\n"
        "    |     ^\n"
        "yard.yaml:3:15: error: unknown key 'bandwith' (in links[0].bandwith)\n"
        "  3 |   - {name: \u00e4, bandwith: 100 GB/s, lanes: 0}\n"
        "    |               ^^^^^^^^ did you mean 'bandwidth'?\n"
        "yard.yaml:3:42: error: '0' is out of range (in links[0].lanes)\n"
        "  3 |   - {name: \u00e4, bandwith: 100 GB/s, lanes: 0}\n"
        "    |                                          ^ must be at least 1 and at most 64\n"
        "yard.yaml:4:27: error: bandwidth needs a unit (in links[1].bandwidth)\n"
        "  4 |   - {name: \u00e9\u00e9, bandwidth: 100, latency: 2 us}\n"
        "    |                           ^^^ 100 Gbps (bits) or 100 GB/s (bytes)?\n"
        "yard.yaml:5:1: error: unknown key 'coluor' (in coluor)\n"
        "  5 | coluor: red\n"
        "    | ^^^^^^ did you mean 'colour'?");
}

TEST_CASE("a key that resembles no other is answered with the keys there are") {
  CHECK(facts_of("title: x\nlinks: [{name: a, bandwidth: 1 GB/s, zzzz: 1}]\n") ==
        "2:38 links[0].zzzz 'zzzz'\n");
  CHECK(facts_of("title: x\nzzzz: 1\n") == "2:1 zzzz 'zzzz'\n");  // too many to list
}

TEST_CASE("a missing key is reported at its parent") {
  CHECK(facts_of("gpus: 3\n") == "1:1 title 'title'\n");
  CHECK(facts_of("title: x\nlinks:\n  - lanes: 2\n") ==
        "3:5 links[0].name 'name'\n"
        "3:5 links[0].bandwidth 'bandwidth'\n");
}

TEST_CASE("a missing value is reported at its key") {
  CHECK(errors_of("title: x\nmemory:\ngpus: ~\nlinks:\n  -\ncolour:\n") ==
        "yard.yaml:2:1: error: value is missing: expected a number with a unit (size) (in memory)\n"
        "  2 | memory:\n"
        "    | ^^^^^^ for example 25 MB\n"
        "yard.yaml:3:1: error: value is missing: expected a whole number (in gpus)\n"
        "  3 | gpus: ~\n"
        "    | ^^^^\n"
        "yard.yaml:5:3: error: value is missing: expected a mapping (key: value) (in links[0])\n"
        "  5 |   -\n"
        "    |   ^\n"
        "yard.yaml:6:1: error: value is missing: expected a name (in colour)\n"
        "  6 | colour:\n"
        "    | ^^^^^^ one of red, blue, green");
}

TEST_CASE("a value of the wrong kind says what was expected") {
  CHECK(facts_of(
            "title: [x]\nlinks: 3\ncolour: []\nshare: {a: 1}\nsizes: 64\npower: [1 W]\nmemory: [1 GB]\n") ==
        "1:8 title\n"
        "2:8 links | [3]\n"
        "3:9 colour\n"
        "4:8 share\n"
        "5:8 sizes | [64]\n"
        "6:8 power\n"
        "7:9 memory | 25\n");
  CHECK(facts_of("[1, 2]\n") == "1:1\n");
  CHECK(facts_of("just text\n") == "1:1\n");
}

TEST_CASE("only true and false are booleans") {
  CHECK(read<Yard>(parse("y", "title: x\nopen: true\n")).open);
  for (const std::string word : {"yes", "on", "True", "1", "y"}) {
    CHECK(facts_of("title: x\nopen: " + word + "\n") == "2:7 open '" + word + "'\n");
  }
  CHECK(facts_of("title: x\nopen: 'true'\n") == "2:7 open 'true'\n");
}

TEST_CASE("whole numbers are decimal, plain and whole") {
  const auto gpus = [](const std::string& text) { return facts_of("title: x\ngpus: " + text + "\n"); };
  CHECK(gpus("1e3") == "no error\n");
  CHECK(gpus("010") == "2:7 gpus '010' | 10\n");
  CHECK(gpus("0x10") == "2:7 gpus '0x10'\n");
  CHECK(gpus("3.9") == "2:7 gpus '3.9'\n");
  CHECK(gpus("1_000") == "2:7 gpus '1_000' | 1000\n");
  CHECK(gpus("1,000") == "2:7 gpus '1,000' | 1000\n");
  CHECK(gpus("12 GB") == "2:7 gpus '12 GB'\n");
  CHECK(gpus("\"12\"") == "2:7 gpus '12'\n");
  CHECK(gpus("3000000000") == "2:7 gpus '3000000000' | 2147483647\n");
  CHECK(gpus("-1") == "2:7 gpus '-1' | 1\n");
}

TEST_CASE("ratios are finite, plain and in range") {
  const auto share = [](const std::string& text) { return facts_of("title: x\nshare: " + text + "\n"); };
  CHECK(share("0") == "no error\n");
  CHECK(share("1") == "no error\n");
  CHECK(share("1.0001") == "2:8 share '1.0001' | 0 1\n");
  CHECK(share(".inf") == "2:8 share '.inf'\n");
  CHECK(share("-.Inf") == "2:8 share '-.Inf'\n");
  CHECK(share(".nan") == "2:8 share '.nan'\n");
  CHECK(share("1e-400") == "2:8 share '1e-400' 0 | 0\n");
  CHECK(share("1e400") == "2:8 share '1e400' | 1.7e308\n");
  CHECK(share("0x1p3") == "2:8 share '0x1p3'\n");
}

TEST_CASE(
    "zero, negative and absurd quantities are out of range, also inside lists, maps and sourced values") {
  const auto link = [](const std::string& bandwidth) {
    return facts_of("title: x\nlinks:\n- name: a\n  bandwidth: " + bandwidth + "\n");
  };
  const std::string hint = " | 0 B/s 100 TB/s\n";
  CHECK(link("100 TB/s") == "no error\n");
  CHECK(link("0 GB/s") == "4:14 links[0].bandwidth '0 GB/s'" + hint);
  CHECK(link("-5 GB/s") == "4:14 links[0].bandwidth '-5 GB/s'" + hint);
  CHECK(link("101 TB/s") == "4:14 links[0].bandwidth '101 TB/s'" + hint);
  CHECK(link("{value: 0 B/s, measured: x}") == "4:22 links[0].bandwidth.value '0 B/s'" + hint);
  CHECK(facts_of("title: x\nsizes: [1, 0, 5000]\n") ==
        "2:12 sizes[1] '0' | 1 4096\n"
        "2:15 sizes[2] '5000' | 1 4096\n");
  CHECK(facts_of("title: x\npower: {idle: 0 W, \"a.b\": 2 MW}\n") ==
        "2:15 power.idle '0 W' | 0 1\n"
        "2:27 power[\"a.b\"] '2 MW' | 0 1\n");
  CHECK(facts_of("title: x\nmemory: 0 GB\n") == "2:9 memory '0 GB' | 0\n");
}

TEST_CASE("numbers whose quotients would overflow are implausibly small, 0 is not") {
  CHECK(facts_of("title: x\nshare: 1e-14\n") == "no error\n");
  CHECK(facts_of("title: x\nshare: 1e-300\n") == "2:8 share '1e-300' | 1e-15 0\n");
  CHECK(facts_of("title: x\nshare: 1e-320\n") == "2:8 share '1e-320' | 1e-15 0\n");
  CHECK(facts_of("title: x\nprice: 1e-300 USD\n") != "no error\n");
  CHECK(facts_of("title: x\nprice: 0 USD\n") == "no error\n");
  const auto link = [](const std::string& bandwidth) {
    return facts_of("title: x\nlinks:\n- name: a\n  bandwidth: " + bandwidth + "\n");
  };
  CHECK(link("1 B/s") == "no error\n");
  CHECK(link("3e-300 GB/s") == "4:14 links[0].bandwidth '3e-300 GB/s' | 1 B/s\n");
}

TEST_CASE("a name that does not exist is answered with the closest or with all") {
  CHECK(facts_of("title: x\ncolour: bleu\n") == "2:9 colour 'bleu' | 'blue'\n");
  CHECK(facts_of("title: x\ncolour: Rad\n") == "2:9 colour 'Rad' | 'red'\n");
  CHECK(facts_of("title: x\ncolour: R-ed\n") == "no error\n");  // capitals and punctuation do not count
  CHECK(facts_of("title: x\ncolour: 7\n") == "2:9 colour '7'\n");
}

TEST_CASE("a value with a source has exactly one kind of source, in words") {
  const auto power = [](const std::string& text) {
    return facts_of("title: x\npower: {max: " + text + "}\n");
  };
  CHECK(power("{value: 3 W, fitted: to table 2}") == "no error\n");
  CHECK(power("{value: 3 W}") == "2:14 power.max\n");
  CHECK(power("{value: 3 W, fitted: x, assumed: y}") == "2:47 power.max\n");
  CHECK(power("{measured: x}") == "2:14 power.max.value 'value'\n");
  CHECK(power("{value: 3 W, measured: ''}") == "2:37 power.max.measured\n");
  CHECK(power("{value: 3 W, mesured: x}") ==
        "2:14 power.max\n"
        "2:27 power.max.mesured 'mesured' | 'measured'\n");
}

TEST_CASE("checks of meaning run with the reading and stay silent about what could not be read") {
  const auto validate = [](const Yard& yard, Problems& problems) {
    if (yard.gpus % 2 != 0) problems.error("gpus", "an odd number of GPUs", "write 8");
    if (yard.links.size() != 2) problems.error("links", "two links are needed");
    if (yard.share == 0.5) problems.error("share", "a share of a half");
    problems.error("links[0].lanes", "never right");
    problems.error("", "never right either");
  };
  CHECK(errors_of("title: x\ngpus: 7\nlinks: [{name: a, bandwidth: 1 GB/s}]\nshare: a half\n", validate) ==
        "yard.yaml:2:7: error: an odd number of GPUs (in gpus)\n"
        "  2 | gpus: 7\n"
        "    |       ^ write 8\n"
        "yard.yaml:3:8: error: two links are needed (in links)\n"
        "  3 | links: [{name: a, bandwidth: 1 GB/s}]\n"
        "    |        ^\n"
        "yard.yaml:3:9: error: never right (in links[0].lanes)\n"
        "  3 | links: [{name: a, bandwidth: 1 GB/s}]\n"
        "    |         ^\n"
        "yard.yaml:4:8: error: 'a half' is not a number (in share)\n"
        "  4 | share: a half\n"
        "    |        ^^^^^^");
}

TEST_CASE("a check can ask which keys were written, whatever their values") {
  Document document = parse("yard.yaml", "title: x\nlinks: []\nshut: {}\n");
  set(document, "size.width", "3");
  const Problems problems(document);
  for (const char* const path : {"title", "links", "shut", "size", "size.width"}) {
    CAPTURE(path);
    CHECK(problems.written(path));
  }
  for (const char* const path : {"gpus", "size.height", "title.width", "shut.width", "nothing.here"}) {
    CAPTURE(path);
    CHECK_FALSE(problems.written(path));
  }
}

TEST_CASE("warnings reach the caller and fail nothing") {
  std::vector<Diagnostic> warnings;
  const Document document = parse("yard.yaml", "title: x\nlinks:\n- {name: a, bandwidth: 0.1 GB/s}\n");
  const Yard yard = read<Yard>(
      document,
      [](const Yard&, Problems& problems) {
        problems.warning("links[0].bandwidth", "bits or bytes?", "0.1 GB/s is 0.8 Gbps");
      },
      &warnings);
  CHECK(yard.links.size() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(to_string(warnings[0]) ==
        "yard.yaml:3:24: warning: bits or bytes? (in links[0].bandwidth)\n"
        "  3 | - {name: a, bandwidth: 0.1 GB/s}\n"
        "    |                        ^^^^^^^^ 0.1 GB/s is 0.8 Gbps");
}

TEST_CASE("a file full of errors reports the first hundred") {
  std::string text = "title: x\n";
  for (int i = 0; i < 150; ++i) text += "zz" + std::to_string(i) + "q: 1\n";
  try {
    read<Yard>(parse("yard.yaml", text));
    FAIL("no error");
  } catch (const InputError& error) {
    CHECK(error.diagnostics().size() == 101);
    CHECK(to_string(error.diagnostics().back()) == "yard.yaml: error: and 50 more errors");
  }
}

namespace {

/// A file with so many warnings at one key, and then so many errors.
std::vector<Diagnostic> found_in_yard(int warnings, int errors, bool& is_refused) {
  std::vector<Diagnostic> found;
  const auto check = [&](const Yard&, Problems& problems) {
    for (int i = 0; i < warnings; ++i) problems.warning("title", "odd");
    for (int i = 0; i < errors; ++i) problems.error("title", "wrong");
  };
  is_refused = false;
  try {
    read<Yard>(parse("yard.yaml", "title: x\n"), check, &found);
  } catch (const InputError& error) {
    is_refused = true;
    found = error.diagnostics();
  }
  return found;
}

}  // namespace

TEST_CASE("however many warnings there are, they fail no file and hide no error") {
  const auto count = [](const std::vector<Diagnostic>& found, Severity severity) {
    return std::ranges::count(found, severity, &Diagnostic::severity);
  };
  bool is_refused = false;
  for (const int warnings : {1, 100, 101, 127, 1000}) {
    CAPTURE(warnings);
    std::vector<Diagnostic> found = found_in_yard(warnings, 0, is_refused);
    CHECK_FALSE(is_refused);
    CHECK(count(found, Severity::error) == 0);
    CHECK(count(found, Severity::warning) == std::min(warnings, 101));  // the last says how many more
    if (warnings == 127) CHECK(found.back().message.find("27") != std::string::npos);
    found = found_in_yard(warnings, 3, is_refused);
    CHECK(is_refused);
    CHECK(count(found, Severity::error) == 3);
  }
}

TEST_CASE("an error without a file is one line and its hint") {
  CHECK(std::string(InputError("unknown fidelity 'x'", "one of flow, steps").what()) ==
        "error: unknown fidelity 'x'\n  one of flow, steps");
}

TEST_CASE("what is wrong with the YAML does not hide what is wrong with the keys") {
  CHECK(facts_of("title: x\ngpus: 0\ngpus: 3\nopen: !tag true\ncolour: rde\n---\ntitle: y\n") ==
        "2:7 gpus '0' | 1\n"
        "3:1 'gpus' | 2\n"
        "4:7 '!' | '!'\n"
        "5:9 colour 'rde' | 'red'\n"
        "6:1\n");
}

TEST_CASE("a value other than a mapping sets the keys of a short form, a text alone names a key") {
  const auto read_pane = [](const std::string& text) { return read<Pane>(parse("pane.yaml", text)); };
  const auto errors_in = [&](const std::string& text) {
    try {
      read_pane(text);
    } catch (const InputError& error) {
      return error.diagnostics();
    }
    return std::vector<Diagnostic>{};
  };
  const auto size_of = [&](const std::string& text) {
    const Size size = read_pane("window: " + text + "\n").window;
    return std::pair(size.height, size.width);
  };
  CHECK(size_of("{height: 2, width: 3}") == std::pair(2, 3));
  CHECK(size_of("4") == std::pair(4, 4));
  CHECK(size_of("[5, 6]") == std::pair(5, 6));
  const auto errors = errors_in("window: 0\n");
  REQUIRE(errors.size() == 1);  // of two keys
  CHECK(errors[0].column == 9);
  CHECK(errors_in("window: [1, 2, 3]\n").size() == 1);
  const Pane nested = read_pane("window: 1\npanes: [shut, {window: 2, panes: [{shut: {}}]}]\n");
  REQUIRE(nested.panes.size() == 2);
  CHECK(nested.panes[0].shut);
  CHECK(nested.panes[1].panes[0].shut);
  const auto unknown = errors_in("panes: [shot]\n");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].column == 9);
  CHECK(unknown[0].hint == "did you mean 'shut'?");
}
