#include "convert/simgrid_file.hpp"

#include "config/fields.hpp"
#include "platform/plausible_limits.hpp"
#include "run/child_processes.hpp"
#include "units/ids.hpp"
#include "units/leading_number.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <memory>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace trainyard {
namespace {

using engine::SimgridPlatform;

using Texts = std::pair<std::string_view, std::string_view>;

constexpr std::string_view units =
    "numbers with units: speed=\"3Gf\" bandwidth=\"1.25GBps\" latency=\"20us\"";
constexpr std::string_view once =
    "each name and each pair once; symmetrical=\"NO\" for a way back of its own";
constexpr std::string_view declared = "declare it before the routes";

/// Parts of SimGrid's messages, and their hints.
constexpr std::array<Texts, 14> hints{
    {{"unknown unit", units},
     {"parse number", units},
     {"out of range", units},
     {"not an int", "a whole number"},
     {"TOO OLD", "simgrid_update_xml FILE brings a file to version 4.1"},
     {"FUTURE", "version=\"4.1\""},
     {"second host", once},
     {"several times", once},
     {"already exists", once},
     {"not found", declared},
     {"does name", declared},
     {"radicals", "topo_parameters need as many hosts as radical has"},
     {"gateways", "a zoneRoute with gw_src and gw_dst joins two zones"},
     {"", "elements and attributes as in https://simgrid.org/doc/latest/XML_reference.html"}}};

/// SimGrid's "Parse error at FILE:LINE: TEXT"; other messages name an element.
InputError refusal(const InputText& input, const XmlElement& root, const std::string& error) {
  int line = line_of(root, error);
  std::string_view rest = error;
  if (const std::size_t start = error.find(input.name + ":"); start != std::string::npos) {
    rest.remove_prefix(start + input.name.size());
    line = take_number(rest, ":").value_or(line);
    rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  }
  std::string words(rest.substr(0, rest.find('\n')));
  if (const std::size_t address = words.find(" (0x");
      address != std::string::npos)  // differs from run to run
    words.erase(address, words.find(')', address) - address + 1);
  const auto* const hint = std::ranges::find_if(
      hints, [&](const Texts& one) { return words.find(one.first) != std::string::npos; });
  return input_error(input.name, line, fmt::format("SimGrid refuses the file: {}", words),
                     std::string(hint->second));
}

/// SimGrid ends the process at some wrong files: its reason, from a child. Empty if it does not.
std::string last_words(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> said(std::tmpfile(), std::fclose);
  if (said == nullptr) throw FileError("cannot make a temporary file");
  ChildOutcome outcome;
  for_each_in_workers(
      1,
      [is_begun = false]() mutable {
        return std::exchange(is_begun, true) ? std::nullopt : std::optional(0);
      },
      [&](int) {
        ::dup2(::fileno(said.get()), STDERR_FILENO);
        return engine::read_simgrid_platform(file).error;
      },
      [&](int, ChildOutcome end) { outcome = std::move(end); });
  if (outcome.kind != ChildOutcome::failure) return value_of(std::move(outcome));
  std::array<char, 1000> line{};
  std::rewind(said.get());
  if (std::fgets(line.data(), line.size(), said.get()) == nullptr) return "it gives no reason";
  std::string_view words(line.data());  // "[0.000000] source.cpp:1: [root/CRITICAL] WORDS\n"
  words = words.substr(0, words.find('\n'));
  if (const std::size_t mark = words.rfind("] "); mark != std::string_view::npos)
    words.remove_prefix(mark + 2);
  return std::string(words);
}

/// The hosts of a radical, such as "0-9,12"; none if it is not one.
std::optional<long long> hosts_in(std::string_view radical) {
  for (long long hosts = 0;;) {
    const std::optional<int> first = take_number(radical);
    const std::optional<int> last = radical.starts_with('-') ? take_number(radical, "-") : first;
    if (!first || !last || *last < *first) return std::nullopt;
    hosts += static_cast<long long>(*last) - *first + 1;
    if (radical.empty()) return hosts;
    if (!radical.starts_with(',')) return std::nullopt;
    radical.remove_prefix(1);
  }
}

/// Whole numbers up to `most`, separated by any of `separators`.
bool are_counts(std::string_view text, std::string_view separators, int most) {
  while (true) {
    const std::optional<int> number = take_number(text);
    if (!number || *number > most) return false;
    if (text.empty()) return true;
    if (separators.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(1);
  }
}

constexpr std::array<std::string_view, 8> routings{"Full",    "Floyd",   "Dijkstra", "DijkstraCache",
                                                   "Cluster", "Vivaldi", "Wifi",     "None"};

/// Largest number in topo_parameters.
constexpr int most_in_topology = 1000;

/// Settings of SimGrid's own run do not apply here. Others than those of its models might write files.
void check_settings(const InputText& input, const XmlElement& config) {
  constexpr std::array<std::string_view, 9> models{"network/", "cpu/",  "host/", "disk/",     "storage/",
                                                   "maxmin/",  "surf/", "smpi/", "precision/"};
  for (const XmlElement& setting : config.children) {
    const std::string_view id = setting.attribute("id");
    const auto is_of = [&](std::string_view model) { return id.starts_with(model); };
    if (std::ranges::none_of(models, is_of))
      throw input_error(input.name, setting.line,
                        fmt::format("<config> sets {}, which is no figure of a model", shown(id)),
                        "leave it out: settings of a simulation are not part of a machine");
  }
}

/// Mistakes that SimGrid reports without a place, and radicals that it would follow for hours.
void check_values(const InputText& input, const XmlElement& root) {
  long long hosts = 0;
  bool has_zone = false;
  visit_xml(root, [&](const XmlElement& element) {
    const auto require = [&](std::string_view name, const auto& is_right, std::string_view hint) {
      const std::string_view value = element.attribute(name);
      if (element.has(name) && !is_right(value))
        throw input_error(input.name, element.line,
                          fmt::format("<{}> has {}={}", element.name, name, shown(value)), std::string(hint));
    };
    require(
        "routing",
        [](std::string_view value) { return std::ranges::find(routings, value) != routings.end(); },
        fmt::format("{}", fmt::join(routings, ", ")));
    require(
        "core",
        [](std::string_view value) {
          return are_counts(value, "", std::numeric_limits<int>::max()) && value != "0";
        },
        "a whole number, at least 1");
    // SimGrid makes as many links as they say, in time that grows faster than their number
    require(
        "topo_parameters",
        [](std::string_view value) { return value.empty() || are_counts(value, ";, ", most_in_topology); },
        fmt::format("whole numbers up to {}, such as \"2;4,4;1,2;1,2\"", most_in_topology));
    for (const char* const name : {"latency", "lat", "bb_lat", "loopback_lat"})
      require(
          name, [](std::string_view value) { return !value.starts_with('-'); }, "0 s or more");
    if (element.name == "config") check_settings(input, element);
    require(
        "radical",
        [&](std::string_view value) {
          const std::optional<long long> some = hosts_in(value);
          hosts += some.value_or(0);
          return some && hosts <= engine::most_simgrid_hosts;
        },
        fmt::format("numbers of hosts, such as \"0-15,20\", at most {} in all", engine::most_simgrid_hosts));
    has_zone = has_zone || element.name == "zone" || element.name == "cluster";
    return true;
  });
  if (input.text.find("<!DOCTYPE") == std::string::npos)
    throw input_error(input.name, root.line, fmt::format("no DOCTYPE before <{}>", root.name),
                      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">");
  if (!has_zone)
    throw input_error(input.name, root.line, fmt::format("<{}> has no zone", root.name),
                      "<zone id=\"cluster\" routing=\"Full\"> with hosts, links and routes");
}

/// Speeds, rates and latencies that SimGrid takes.
void check_figures(const InputText& input, const XmlElement& root, const SimgridPlatform& read) {
  const auto require = [&](bool is_right, const std::string& name, const std::string& message,
                           std::string_view hint) {
    if (!is_right) throw input_error(input.name, line_of(root, name), message, std::string(hint));
  };
  for (const SimgridPlatform::Host& host : read.hosts)
    require(host.speed > 0 && std::isfinite(host.speed), host.name,
            fmt::format("the host {} has {}", shown(host.name), human(FlopRate{host.speed})),
            "a finite number above 0, such as \"3Gf\"");
  for (const SimgridPlatform::Link& link : read.links) {
    require(link.is_linear, link.name,
            fmt::format("the bandwidth of the link {} depends on its load", shown(link.name)),
            "links with the sharing_policy SHARED, SPLITDUPLEX and FATPIPE are read");
    require(link.is_fatpipe
                ? link.bandwidth > 0
                : link.bandwidth >= config::least_bandwidth && link.bandwidth <= config::most_bandwidth,
            link.name, fmt::format("the link {} has {}", shown(link.name), human(Bandwidth{link.bandwidth})),
            "1 kB/s to 100 TB/s; a link that never limits is FATPIPE");
  }
  for (const SimgridPlatform::Route& route : read.routes) {
    if (route.links.empty()) continue;
    const std::string& name = read.links[at(route.links.front())].name;
    require(route.latency >= 0 && route.latency <= config::most_latency, name,
            fmt::format("a route over the link {} has a latency of {:.3g} s", shown(name), route.latency),
            "the latencies of its links add up to 0 to 1 s");
  }
}

}  // namespace

int line_of(const XmlElement& root, std::string_view text) {
  std::string spaced(text);
  std::ranges::replace_if(
      spaced, [](char c) { return std::string_view("'\"():,!\n").find(c) != std::string_view::npos; }, ' ');
  std::vector<std::string_view> words = words_of(spaced);
  for (std::string_view& word : words) word = word.substr(0, word.find_last_not_of('.') + 1);
  int line = root.line, most = 1;
  int reference = 0;  // to a link that no element declares
  visit_xml(root, [&](const XmlElement& element) {
    int score = 0;
    auto next = words.begin();  // in the order of the text: a route from a to c is not one from c to a
    for (const auto& [name, value] : element.attributes) {
      if (value.empty()) continue;
      const auto is_named = [&, &name = name, &value = value](std::string_view word) {
        if (word == value) return true;
        if (name == "topology" && config::is_same_word(word.substr(0, word.find("Zone")), value)) return true;
        return element.name == "cluster" && (name == "id" || name == "prefix") && word.starts_with(value) &&
               word.find_first_of("0123456789_", value.size()) != std::string_view::npos;
      };
      const auto found = std::find_if(next, words.end(), is_named);
      if (found == words.end()) continue;
      score += name == "id" ? 2 : 1;
      next = found;
    }
    if (element.name == "link_ctn")
      reference = score > 0 ? element.line : reference;
    else if (score >= most)
      std::tie(line, most) = std::pair(element.line, score);
    return true;
  });
  return line == root.line && reference > 0 ? reference : line;
}

engine::SimgridPlatform read_simgrid(const InputText& input) {
  const XmlElement root = parse_xml(input);
  check_values(input, root);
  if (const std::string words = last_words(input.name); !words.empty()) throw refusal(input, root, words);
  SimgridPlatform read = engine::read_simgrid_platform(input.name);
  if (!read.error.empty()) throw refusal(input, root, read.error);
  if (read.hosts.size() < 2 || read.hosts.size() > engine::most_simgrid_hosts)
    throw input_error(
        input.name, root.line,
        "a platform of SimGrid with " + plural(static_cast<int>(read.hosts.size()), "host"),
        fmt::format("2 to {} are read, with the route of each pair", engine::most_simgrid_hosts));
  check_figures(input, root, read);
  return read;
}

}  // namespace trainyard
