#include "config/write.hpp"

#include "config/samples.hpp"
#include "units/control_characters.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;
using namespace trainyard::config;

namespace {

double positive() {
  return static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 1LL << 53)) *
         std::pow(2.0, *rc::gen::inRange(-30, -9));
}

/// Any Unicode text without the characters that readers refuse.
std::string any_text() {
  std::string text;
  for (const int code : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 0x11000))) {
    const auto add = [&](int byte) { text += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xC0 | (code >> 6));
      add(0x80 | (code & 63));
    } else if (code < 0xD800 || (code >= 0xE000 && code < 0x10000)) {
      add(0xE0 | (code >> 12));
      add(0x80 | ((code >> 6) & 63));
      add(0x80 | (code & 63));
    } else if (code >= 0x10000) {
      add(0xF0 | (code >> 18));
      add(0x80 | ((code >> 12) & 63));
      add(0x80 | ((code >> 6) & 63));
      add(0x80 | (code & 63));
    }
  }
  return without_controls(text);  // readers refuse them
}

Yard any_yard() {
  Yard yard;
  yard.title = any_text();
  const int links = *rc::gen::inRange(0, 4);
  for (int i = 0; i < links; ++i) {
    Lane lane{any_text(), {Bandwidth(std::min(positive(), 100e12))}, Seconds(std::min(positive(), 1.0))};
    lane.bandwidth.provenance = static_cast<Provenance>(*rc::gen::inRange(0, 5));
    if (lane.bandwidth.provenance != Provenance::unstated) lane.bandwidth.source = any_text() + "x";
    lane.lanes = *rc::gen::inRange(1, 65);
    yard.links.push_back(std::move(lane));
  }
  yard.colour = *rc::gen::element(Colour::red, Colour::blue, Colour::green);
  yard.share = std::min(1.0, positive() / 1e5);
  yard.open = *rc::gen::arbitrary<bool>();
  yard.gpus = *rc::gen::inRange(1, std::numeric_limits<int>::max());
  yard.samples = *rc::gen::inRange<long long>(1, std::numeric_limits<long long>::max());
  if (*rc::gen::arbitrary<bool>()) yard.memory = Bytes(positive());
  yard.sizes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 4097));
  const int powers = *rc::gen::inRange(0, 4);
  for (int i = 0; i < powers; ++i) yard.power[any_text()] = {Watts(std::min(positive(), 1e6))};
  yard.peak = FlopRate(positive());
  yard.work = Flops(positive());
  yard.energy = Joules(positive());
  yard.price = Dollars(positive());
  return yard;
}

}  // namespace

TEST_CASE("a struct is written with its defaults, in the order of its keys") {
  Yard yard{.title = "a: b"};
  yard.links = {{"x", {Bandwidth(150e9), Provenance::measured, "figure 2"}}, {"y", {Bandwidth(12.5e9)}}};
  yard.power["max.state"] = {Watts(300)};
  CHECK(write(yard) == R"(title: "a: b"
links:
  - name: x
    bandwidth: {value: 150 GB/s, measured: figure 2}
    latency: 1 us
    lanes: 1
  - {name: "y", bandwidth: 12.5 GB/s, latency: 1 us, lanes: 1}
colour: red
share: 0.5
open: true
gpus: 8
samples: 1281167
sizes: [1, 2]
power: {max.state: 300 W}
peak: 15.7 TFLOP/s
work: 0 FLOP
energy: 0 J
price: 0 USD
)");
}

TEST_CASE("strings are quoted where some YAML reader would take them for something else") {
  const auto title = [](const std::string& text) {
    const std::string yaml = write(Yard{.title = text});
    CHECK(read<Yard>(parse("y", yaml)).title == text);
    return yaml.substr(7, yaml.find("\nlinks:") - 7);
  };
  CHECK(title("NVIDIA DGX-2") == "NVIDIA DGX-2");
  CHECK(title("") == "\"\"");
  CHECK(title("12") == "\"12\"");
  CHECK(title("no") == "\"no\"");
  CHECK(title("Null") == "\"Null\"");
  CHECK(title("a # b") == "\"a # b\"");
  CHECK(title("- a") == "\"- a\"");
  CHECK(title("say \"x\" \\ y") == "\"say \\\"x\\\" \\\\ y\"");
  CHECK(title("two\nlines\ttab") == "\"two\\nlines\\x09tab\"");
  CHECK(title("gr\u00fcn \u2028\ufeff") == "\"gr\u00fcn \\u2028\\ufeff\"");
}

TEST_CASE(
    "a text with commas, brackets or question marks keeps its meaning in a list and in a mapping of one "
    "line") {
  for (const std::string text : {"a, b", "a[1]", "x {y}", "1,5", "why not?"}) {
    CAPTURE(text);
    for (const std::string& yaml : {"set:\n  key: " + text + "\n", "set:\n  - " + text + "\n"}) {
      const Node root = parse("x.yaml", yaml).root;
      const Node again = parse("y.yaml", emit(root)).root;
      CHECK(emit(again) == emit(root));
      const Node& value = *again.find("set");
      REQUIRE(value.entries.size() + value.items.size() == 1);
      CHECK((value.items.empty() ? value.entries.front().value : value.items.front()).scalar == text);
    }
  }
}

TEST_CASE("a text of several lines without quotes keeps them") {
  const Node root = parse("x.yaml", "title: one\n\n  two\n").root;
  REQUIRE(root.find("title")->scalar == "one\ntwo");
  CHECK(parse("y.yaml", emit(root)).root.find("title")->scalar == "one\ntwo");
}

TEST_CASE("what is written reads back to an equal value, to the same bits") {
  CHECK(rc::check([] {
    const Yard yard = any_yard();
    const std::string text = write(yard);
    RC_LOG(text);
    const Yard back = read<Yard>(parse("y", text));
    RC_ASSERT(back == yard);
    RC_ASSERT(write(back) == text);
  }));
}
