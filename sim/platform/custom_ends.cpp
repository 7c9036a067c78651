#include "config/suggest.hpp"
#include "platform/fabric_definition.hpp"
#include "platform/link_ends.hpp"
#include "units/leading_number.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_names = 100'000;  // per pattern
constexpr int most_listed_nics = 2048;       // their table of routes takes 16 MB

/// The names that "leaf[0-3]" or "node[0-7].nic[0-1]" stands for; a text without brackets is itself. Empty if
/// a list does not parse or stands for too many names.
std::optional<std::vector<std::string>> written_out(std::string_view pattern) {
  std::vector<std::string> names{""};
  while (!pattern.empty()) {
    const std::size_t open = std::min(pattern.find('['), pattern.size());
    for (std::string& name : names) name += pattern.substr(0, open);
    pattern.remove_prefix(open);
    if (pattern.empty()) break;
    const std::size_t close = pattern.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const auto numbers = numbers_in_list(pattern.substr(1, close - 1));
    if (!numbers || names.size() * numbers->size() > most_names) return std::nullopt;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const int number : *numbers) longer.push_back(name + std::to_string(number));
    }
    names = std::move(longer);
    pattern.remove_prefix(close + 1);
  }
  return names;
}

/// "node3.nic0"; empty for any other form.
std::optional<CustomEnd> nic_called(std::string_view name) {
  const auto node = take_number(name, "node");
  const auto nic = take_number(name, ".nic");
  if (!node || !nic || !name.empty() || std::max(*node, *nic) > 9999) return std::nullopt;
  return CustomEnd{.node = *node, .nic = *nic};
}

bool is_switch_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && std::ranges::all_of(name, is_letter) && !name.starts_with("node") &&
         name != "fabric";
}

std::vector<std::string> switch_names(const FabricFile& file, config::Problems& problems) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (std::size_t i = 0; i < file.switches.size(); ++i) {
    const std::string path = fmt::format("fabric.switches[{}]", i);
    const auto some = written_out(file.switches[i]);
    if (!some || !std::ranges::all_of(*some, is_switch_name)) {
      problems.error(path, in_quotes(file.switches[i]) + " is not a name for a switch",
                     "use letters, digits, - and _; no name may start with node or be fabric; write a list "
                     "as \"leaf[0-3]\"");
      continue;
    }
    for (const std::string& name : *some) {
      if (known.insert(name).second) {
        names.push_back(name);
      } else {
        problems.error(path, fmt::format("switch {} is listed twice", name), "choose another name");
        break;
      }
    }
  }
  return names;
}

using Numbers = std::map<std::string, int, std::less<>>;  ///< of the switches, by name

/// The ends that one text stands for; empty if it could not be read.
std::vector<CustomEnd> read_end(const std::string& pattern, const Numbers& switches, int nics,
                                const std::string& path, config::Problems& problems) {
  const auto names = written_out(pattern);
  if (!names) {
    problems.error(path, in_quotes(pattern) + " is not a switch, a NIC or a list of them",
                   "leaf0, node0.nic0, \"leaf[0-3]\" or \"node[0-3].nic0\"");
    return {};
  }
  std::vector<CustomEnd> ends;
  for (const std::string& name : *names) {
    if (const auto found = switches.find(name); found != switches.end()) {
      ends.push_back({.switch_number = found->second});
      continue;
    }
    const auto nic = nic_called(name);
    if (!nic && switches.empty()) {
      problems.error(path, in_quotes(name) + " is not a NIC", "node0.nic0, or a list \"node[0-3].nic0\"");
      return {};
    }
    if (!nic) {
      std::vector<std::string_view> known;
      for (const auto& [text, number] : switches) known.push_back(text);
      problems.error(path, fmt::format("unknown switch {}", in_quotes(name)), config::suggest(name, known));
      return {};
    }
    if (nics >= 0 && nic->nic >= nics) {
      problems.error(path,
                     fmt::format("{} does not exist: a node has {} NIC{}", name, nics, nics == 1 ? "" : "s"),
                     "node0.nic0");
      return {};
    }
    ends.push_back(*nic);
  }
  return ends;
}

}  // namespace

void read_custom(const FabricFile& file, int nics, Fabric& fabric, config::Problems& problems) {
  CustomShape& shape = fabric.custom;
  fabric.places = 0;
  if (!problems.readable("fabric.switches")) return;
  shape.switches = switch_names(file, problems);
  Numbers numbers;
  for (std::size_t i = 0; i < shape.switches.size(); ++i) numbers[shape.switches[i]] = static_cast<int>(i);

  LinkedBy<CustomEnd> linked_by;
  const auto name = [&](const CustomEnd& end) { return end_name(end, shape.switches); };
  for (std::size_t i = 0; i < file.links.size(); ++i) {
    const FabricLinkFile& entry = file.links[i];
    const std::string path = fmt::format("fabric.links[{}].between", i);
    if (!problems.readable(path)) continue;
    if (entry.between.size() != 2) {
      problems.error(path, fmt::format("a link has two ends, not {}", entry.between.size()),
                     "between: [\"node[0-3].nic0\", leaf0]");
      continue;
    }
    const auto ones = read_end(entry.between[0], numbers, nics, path + "[0]", problems);
    const auto opposite = read_end(entry.between[1], numbers, nics, path + "[1]", problems);
    if (ones.size() * opposite.size() > most_names) {
      problems.error(path, fmt::format("one entry stands for {} links", ones.size() * opposite.size()),
                     "at most 100000 links per entry");
      continue;
    }
    for (std::size_t pair = 0; pair < ones.size() * opposite.size(); ++pair) {
      const CustomEnd& one = ones[pair / opposite.size()];
      const CustomEnd& other = opposite[pair % opposite.size()];
      if (!check_pair(one, other, i, "fabric.links", linked_by, path, "write one link with more bandwidth",
                      name, problems))
        break;
      shape.links.push_back({one, other, entry.bandwidth, entry.latency.value_or(Sourced<Seconds>{})});
      for (const CustomEnd& end : {one, other}) {
        if (end.switch_number < 0) fabric.places = std::max(*fabric.places, end.node + 1);
      }
    }
  }
}

void read_routes(const FabricFile& file, int nics, Fabric& fabric, config::Problems& problems) {
  RoutesShape& shape = fabric.routes;
  fabric.places = 0;
  Numbers numbers;
  for (const SharedLinkFile& link : file.shared_links) {
    const auto number = static_cast<int>(shape.links.size());
    const std::string path = fmt::format("fabric.shared_links[{}].name", number);
    if (link.name.empty() || link.name.starts_with("node") || link.name.starts_with("fabric"))
      problems.error(path, in_quotes(link.name) + " is not a name for a link of the fabric",
                     "choose one that does not begin with node or fabric, as links of nodes and NICs do");
    if (!numbers.emplace(link.name, number).second)
      problems.error(path, fmt::format("link {} is listed twice", in_quotes(link.name)),
                     "choose another name");
    shape.links.push_back({link.name, link.bandwidth});
  }
  const auto links = [&](const std::vector<std::string>& names, const std::string& path) {
    std::vector<int> found;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto number = numbers.find(names[i]);
      if (number != numbers.end()) {
        found.push_back(number->second);
        continue;
      }
      std::vector<std::string_view> known;
      for (const auto& [text, unused] : numbers) known.push_back(text);
      problems.error(fmt::format("{}[{}]", path, i), "unknown link " + in_quotes(names[i]),
                     config::suggest(names[i], known));
    }
    return found;
  };
  const auto ends = [&](const std::string& pattern, const std::string& path) {
    return problems.readable(path) ? read_end(pattern, {}, nics, path, problems) : std::vector<CustomEnd>{};
  };
  for (std::size_t i = 0; i < file.ends.size(); ++i) {
    const std::string path = fmt::format("fabric.ends[{}]", i);
    const RouteEnds both{links(file.ends[i].out, path + ".out"), links(file.ends[i].in, path + ".in")};
    for (const CustomEnd& nic : ends(file.ends[i].nic, path + ".nic")) {
      if (shape.ends.emplace(nic, both).second) continue;
      problems.error(path + ".nic", end_name(nic, {}) + " is listed twice", "write its links once");
      break;
    }
  }
  std::set<std::pair<CustomEnd, CustomEnd>> listed;
  for (std::size_t i = 0; i < file.routes.size(); ++i) {
    const ListedRouteFile& entry = file.routes[i];
    const std::string path = fmt::format("fabric.routes[{}]", i);
    ListedRoute route{ends(entry.from, path + ".from"), ends(entry.to, path + ".to"),
                      links(entry.over, path + ".over"), entry.latency.value_or(Sourced<Seconds>{})};
    for (const auto* some : {&route.from, &route.to}) {
      for (const CustomEnd& nic : *some) fabric.places = std::max(*fabric.places, nic.node + 1);
    }
    if (route.from.size() * route.to.size() == 1 && !listed.emplace(route.from[0], route.to[0]).second)
      problems.error(path, fmt::format("a second route from {} to {}", entry.from, entry.to), "write one");
    shape.routes.push_back(std::move(route));
  }
  if (static_cast<long long>(*fabric.places) * nics > most_listed_nics)
    problems.error("fabric.routes", fmt::format("routes of more than {} NICs", most_listed_nics),
                   "another kind of fabric has a rule in place of a list");
}

}  // namespace trainyard
