#pragma once
// Small structs with key tables: every field type once, for the tests of this folder.

#include "config/read.hpp"
#include "facts_in.hpp"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class Colour { red, blue, green };

struct Lane {
  std::string name;
  Sourced<Bandwidth> bandwidth;
  Seconds latency{1e-6};
  int lanes = 1;

  friend bool operator==(const Lane&, const Lane&) = default;
};

struct Yard {
  std::string title = {};
  std::vector<Lane> links = {};
  Colour colour = Colour::red;
  double share = 0.5;
  bool open = true;
  int gpus = 8;
  long long samples = 1281167;
  std::optional<Bytes> memory = {};
  std::vector<int> sizes = {1, 2};
  std::map<std::string, Sourced<Watts>> power = {};
  FlopRate peak{15.7e12};
  Flops work{0};
  Joules energy{0};
  Dollars price{0};

  friend bool operator==(const Yard&, const Yard&) = default;
};

/// Short forms, and a type that contains itself.
struct Size {
  int height = 0, width = 0;
};

struct Shut {};

struct Pane {
  Size window;
  std::optional<Shut> shut = {};
  std::vector<Pane> panes = {};
};

template <>
struct config::Keys<Size> {
  static constexpr std::array<std::string_view, 2> short_form{"height", "width"};
  static auto table() {
    return keys(required("height", &Size::height, "from top to bottom").at_least(1),
                required("width", &Size::width, "from left to right").at_least(1));
  }
};

template <>
struct config::Keys<Shut> {
  static auto table() { return keys(); }
};

template <>
struct config::Keys<Pane> {
  static constexpr bool names_key = true;
  static constexpr std::string_view definition = "pane";
  static auto table() {
    return keys(optional("window", &Pane::window, "height and width"),
                optional("shut", &Pane::shut, "it cannot be opened"),
                optional("panes", &Pane::panes, "inside it"));
  }
};

template <>
struct config::Names<Colour> {
  static constexpr std::string_view what = "colour";
  static constexpr std::array table{Name{"red", Colour::red, "as blood"},
                                    Name{"blue", Colour::blue, "as the sky"},
                                    Name{"green", Colour::green, ""}};
};

template <>
struct config::Keys<Lane> {
  static auto table() {
    return keys(required("name", &Lane::name, "how other keys call it"),
                required("bandwidth", &Lane::bandwidth, "in each direction").above(0).at_most(100e12),
                optional("latency", &Lane::latency, "of a message of zero bytes").at_least(0).at_most(1),
                optional("lanes", &Lane::lanes, "parallel lanes").at_least(1).at_most(64));
  }
};

template <>
struct config::Keys<Yard> {
  static auto table() {
    return keys(required("title", &Yard::title, "for the first line of the report"),
                optional("links", &Yard::links, "what joins the devices"),
                optional("colour", &Yard::colour, "of the drawing"),
                optional("share", &Yard::share, "of the peak that is reached").at_least(0).at_most(1),
                optional("open", &Yard::open, "whether it may be entered"),
                optional("gpus", &Yard::gpus, "in one node").at_least(1),
                optional("samples", &Yard::samples, "in one epoch").above(0),
                optional("memory", &Yard::memory, "of one GPU").above(0),
                optional("sizes", &Yard::sizes, "batch sizes to try").at_least(1).at_most(4096),
                optional("power", &Yard::power, "by state").above(0).at_most(1e6),
                optional("peak", &Yard::peak, "of one GPU").above(0),
                optional("work", &Yard::work, "of one step").at_least(0),
                optional("energy", &Yard::energy, "of one step").at_least(0),
                optional("price", &Yard::price, "of the whole").at_least(0));
  }
};

namespace config {

/// All diagnostics of reading `text` as a Yard named yard.yaml; "no error" if there are none.
inline std::string errors_of(std::string_view text,
                             const std::function<void(const Yard&, Problems&)>& validate = {}) {
  try {
    read<Yard>(parse("yard.yaml", text), validate);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

/// Position, key path, and facts of message and hint (facts_in), one error per line.
inline std::string facts_of(std::string_view text) {
  std::string messages;
  try {
    read<Yard>(parse("yard.yaml", text));
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics()) {
      messages += std::to_string(found.line) + ":" + std::to_string(found.column);
      const std::string facts = facts_in(found.message);
      const std::string hint = facts_in(found.hint);
      if (!found.key_path.empty()) messages += " " + found.key_path;
      if (!facts.empty()) messages += " " + facts;
      if (!hint.empty()) messages += " | " + hint;
      messages += "\n";
    }
  }
  return messages.empty() ? "no error\n" : messages;
}

}  // namespace config
}  // namespace trainyard
