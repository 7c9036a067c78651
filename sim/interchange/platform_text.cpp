#include "interchange/platform_text.hpp"

#include "config/fields.hpp"
#include "platform/names.hpp"
#include "units/text.hpp"

#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace trainyard {
namespace {

/// A text in double quotes, as YAML reads it.
std::string double_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\';
    result += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return result + '"';
}

std::string schema_line(const std::string& schema) {
  return schema.empty() ? schema : "# yaml-language-server: $schema=" + schema + '\n';
}

/// A comment of one or more lines, at most 110 columns wide.
std::string comment_lines(std::string_view text) {
  constexpr std::size_t width = 110;
  std::string plain(text);
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::string result, line = "#";
  for (const std::string_view word : words_of(plain)) {
    if (line.size() + 1 + word.size() > width && line.size() > 3) {
      result += line + '\n';
      line = "#  ";
    }
    line += ' ';
    line += word;
  }
  return result + line + '\n';
}

/// Network cards are sold in bits: "200 Gbps", if that reads back to the same bits.
std::string rate_of_card(const Sourced<Bandwidth>& rate) {
  const std::string text = shortest(rate.value.si() * 8 / 1e9) + " Gbps";
  const auto parsed = parse_quantity<Bandwidth>(text);
  return parsed && *parsed == rate.value ? text : exact(rate.value);
}

std::string value_text(double value) { return shortest(value); }
std::string value_text(int value) { return std::to_string(value); }
std::string value_text(bool value) { return value ? "true" : "false"; }
template <class Q>
std::string value_text(Q value) {
  return exact(value);
}

template <class T>
std::string figure(const Sourced<T>& value, const std::string& text) {
  if (value.provenance == Provenance::unstated) return text;
  const auto index = static_cast<std::size_t>(value.provenance);
  return fmt::format("{{value: {}, {}: {}}}", text, config::provenance_keys.at(index),
                     double_quoted(value.source));
}

template <class T>
std::string figure(const Sourced<T>& value) {
  return figure(value, value_text(value.value));
}

/// Figures with a source that come again are anchors: "&latency1", "*latency1".
class Anchors {
public:
  void count(const std::string& text) { ++counts_[text]; }

  std::string use(std::string_view key, const std::string& text) {
    if (counts_[text] < 2 || !text.starts_with('{')) return text;
    if (const auto found = names_.find(text); found != names_.end()) return "*" + found->second;
    const std::string name = fmt::format("{}{}", key, ++numbers_[std::string(key)]);
    names_[text] = name;
    return fmt::format("&{} {}", name, text);
  }

private:
  std::map<std::string, int> counts_;
  std::map<std::string, std::string> names_;
  std::map<std::string, int> numbers_;
};

std::string devices_text(const NodeDevicesFile& devices) {
  std::string text;
  const auto add = [&](const char* kind, int count, const std::string& model, const std::string& more) {
    if (count == 0) return;
    text += fmt::format("    {}: {{count: {}{}{}}}\n", kind, count,
                        model.empty() ? std::string() : ", model: " + double_quoted(model), more);
  };
  add("nvswitch", devices.nvswitch.count, devices.nvswitch.model, {});
  add("cpu", devices.cpu.count, devices.cpu.model,
      devices.cpu.host_bridge_per_port ? ", host_bridge_per_port: true" : "");
  add("pcie_switch", devices.pcie_switch.count, devices.pcie_switch.model, {});
  add("nic", devices.nic.count, devices.nic.model, {});
  return text;
}

std::string end_text(const std::string& end) {
  return end.find_first_of("[,") == std::string::npos ? end : double_quoted(end);
}

std::string links_text(const std::vector<LinkFile>& links) {
  Anchors anchors;
  for (const LinkFile& link : links) {
    anchors.count(figure(link.bandwidth));
    anchors.count(figure(link.latency));
    if (link.effective) anchors.count(figure(*link.effective));
  }
  std::string text;
  for (const LinkFile& link : links) {
    text += fmt::format("    - between: [{}, {}]\n", end_text(link.between[0]), end_text(link.between[1]));
    if (link.pairing != Pairing::all)
      text += fmt::format("      pairing: {}\n", config::name_of(link.pairing));
    text += fmt::format("      kind: {}\n      lanes: {}\n", config::name_of(link.kind), link.lanes);
    text += fmt::format("      bandwidth: {}\n", anchors.use("bandwidth", figure(link.bandwidth)));
    if (link.effective)
      text += fmt::format("      effective: {}\n", anchors.use("effective", figure(*link.effective)));
    text += fmt::format("      latency: {}\n", anchors.use("latency", figure(link.latency)));
  }
  return text;
}

std::string effective_text(const EffectiveFile& effective) {
  std::string text;
  const auto add = [&](const auto& key) {
    if (const auto& rate = effective.*key.member)
      text += fmt::format("    {}: {}\n", key.name, figure(*rate));
  };
  config::Keys<EffectiveFile>::table()([&](const auto&... key) { (add(key), ...); });
  return text.empty() ? text : "  effective:  # per lane and direction; staged: per connection\n" + text;
}

std::string cables_text(const std::vector<FabricLinkFile>& links) {
  Anchors anchors;
  for (const FabricLinkFile& link : links) {
    anchors.count(figure(link.bandwidth));
    if (link.latency) anchors.count(figure(*link.latency));
  }
  std::string text = links.empty() ? std::string() : "  links:\n";
  for (const FabricLinkFile& link : links) {
    text += fmt::format("    - {{between: [{}, {}], bandwidth: {}", end_text(link.between[0]),
                        end_text(link.between[1]), anchors.use("cable", figure(link.bandwidth)));
    if (link.latency) text += ", latency: " + anchors.use("delay", figure(*link.latency));
    text += "}\n";
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(double_quoted(name));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string routes_text(const FabricFile& fabric) {
  std::string text = fabric.shared_links.empty() ? std::string() : "  shared_links:\n";
  for (const SharedLinkFile& link : fabric.shared_links)
    text +=
        fmt::format("    - {{name: {}, bandwidth: {}}}\n", double_quoted(link.name), figure(link.bandwidth));
  if (!fabric.ends.empty())
    text += "  ends:  # links with which all routes out of a NIC begin, and into it end\n";
  for (const RouteEndsFile& end : fabric.ends)
    text +=
        fmt::format("    - {{nic: {}, out: {}, in: {}}}\n", end.nic, names_text(end.out), names_text(end.in));
  if (!fabric.routes.empty()) text += "  routes:  # links between the ends\n";
  for (const ListedRouteFile& route : fabric.routes) {
    text += fmt::format("    - {{from: {}, to: {}, over: {}", end_text(route.from), end_text(route.to),
                        names_text(route.over));
    if (route.latency) text += ", latency: " + figure(*route.latency);
    text += "}\n";
  }
  return text;
}

std::string fabric_text(const FabricFile& fabric) {
  std::string text = fmt::format("fabric:\n  kind: {}\n  transport: {}\n", config::name_of(fabric.kind),
                                 config::name_of(fabric.transport));
  const auto add = [&](const char* key, const auto& value) {
    if (value) text += fmt::format("  {}: {}\n", key, figure(*value));
  };
  if (fabric.nic) text += fmt::format("  nic: {}\n", figure(*fabric.nic, rate_of_card(*fabric.nic)));
  if (fabric.efficiency != FabricFile{}.efficiency)
    text += fmt::format("  efficiency: {}\n", figure(fabric.efficiency));
  add("latency", fabric.latency);
  add("per_flow", fabric.per_flow);
  text += fmt::format("  gpudirect: {}\n", figure(fabric.gpudirect));
  add("hop_latency", fabric.hop_latency);
  add("nodes_per_rail", fabric.nodes_per_rail);
  add("pxn", fabric.pxn);
  if (!fabric.dimensions.empty())
    text += fmt::format("  dimensions: [{}]\n", fmt::join(fabric.dimensions, ", "));
  add("link", fabric.link);
  if (!fabric.switches.empty()) {
    std::vector<std::string> ends;
    for (const std::string& name : fabric.switches) ends.push_back(end_text(name));
    text += fmt::format("  switches: [{}]\n", fmt::join(ends, ", "));
  }
  return text + cables_text(fabric.links) + routes_text(fabric);
}

}  // namespace

std::string platform_text(const PlatformDraft& draft, const std::string& schema) {
  const PlatformFile& file = draft.file;
  std::string text = schema_line(schema);
  text +=
      "# Written by `trainyard init platform`; `trainyard topology FILE` prints every figure with its "
      "source.\n";
  for (const std::string& comment : draft.comments) text += comment_lines(comment);
  text += fmt::format("name: {}\ntitle: {}\n\nnode:\n", file.name, double_quoted(file.title));
  text += fmt::format("  gpus: {{count: {}, profile: {}}}\n", file.node.gpus->count,
                      file.node.gpus->profile.find_first_of("/.") == std::string::npos
                          ? file.node.gpus->profile
                          : double_quoted(file.node.gpus->profile));
  const std::string devices = devices_text(file.node.devices);
  if (!devices.empty()) text += "  devices:\n" + devices;
  if (!file.node.links.empty())
    text += "  links:  # bandwidth is per direction\n" + links_text(file.node.links);
  if (!file.node.peer_to_peer) text += "  peer_to_peer: false\n";
  text += effective_text(file.node.effective);
  if (file.fabric) text += '\n' + fabric_text(*file.fabric);
  if (!file.source.empty()) text += "\nsource:\n";
  for (const std::string& source : file.source) text += fmt::format("  - {}\n", double_quoted(source));
  return text;
}

std::string short_profile_text(const DataSheet& sheet, const std::string& schema) {
  std::string text = schema_line(schema);
  text +=
      "# Written by `trainyard init platform` from a data sheet. Missing figures are scaled from the GPU "
      "'like'\n# and counts as assumed; `trainyard calibrate gpu` measures it.\n";
  text += fmt::format("name: {}\ntitle: {}\n", sheet.name, double_quoted(sheet.title));
  if (!sheet.like.empty()) text += fmt::format("like: {}\n", sheet.like);
  const char* const source = "data sheet, as stated when this file was written";
  text += fmt::format("memory:\n  capacity: {{value: {}, specified: {}}}\n", exact(sheet.memory),
                      double_quoted(source));
  if (sheet.usable)
    text += fmt::format("  usable: {{value: {}, measured: \"nvidia-smi -q\"}}\n", exact(*sheet.usable));
  if (sheet.bandwidth)
    text += fmt::format("  bandwidth: {{value: {}, specified: {}}}\n", exact(*sheet.bandwidth),
                        double_quoted(source));
  if (sheet.tdp)
    text += fmt::format("tdp: {{value: {}, specified: {}}}\n", exact(*sheet.tdp), double_quoted(source));
  text += "matrix:\n";
  for (const auto& [dtype, peak] : sheet.peaks) {
    text += fmt::format("  {}: {{peak: {{value: {}, specified: {}}}}}\n", dtype, exact(peak),
                        double_quoted(source));
  }
  return text;
}

Bytes as_sold(Bytes memory) {
  constexpr double gb = 1e9, gib = 1024.0 * 1024 * 1024;
  const double whole = memory.si() / gb;
  return whole == std::floor(whole) ? Bytes(whole * gib) : memory;
}

std::string file_name_of(std::string_view product) {
  std::string name;
  for (const char c : product) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

}  // namespace trainyard
