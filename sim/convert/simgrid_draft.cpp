#include "convert/simgrid_draft.hpp"

#include "convert/simgrid_file.hpp"
#include "platform/plausible_limits.hpp"
#include "units/ids.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

namespace trainyard {
namespace {

using engine::SimgridPlatform;

/// Elements and attributes that our platforms cannot say, and the effect.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> left_out{
    {{" config ", "settings of SimGrid's models do not apply: latencies and rates are taken as written"},
     {" disk storage mount ", "reading samples takes no time until node.storage is stated"},
     {" trace trace_connect availability_file speed_file bandwidth_file latency_file ",
      "speeds and rates do not change over time"},
     {" state_file ", "nothing fails until an experiment has faults"},
     {" loopback_bw loopback_lat ", "a host sends itself nothing"},
     {" pstate ", "a host has the first of its speeds"},
     {" prop actor process ", "properties, such as power, and actors are not read"}}};

std::string at_line(const InputText& input, int line, std::string_view text) {
  return fmt::format("{}:{}: {}", base_name(input.name), line, text);
}

std::vector<std::string> left_out_of(const InputText& input, const XmlElement& root) {
  std::array<std::vector<std::pair<int, std::string>>, left_out.size()> found;  // lines and names
  visit_xml(root, [&](const XmlElement& element) {
    const auto note = [&](const std::string& name) {
      for (std::size_t i = 0; i < left_out.size(); ++i) {
        if (left_out[i].first.find(fmt::format(" {} ", name)) != std::string_view::npos)
          found[i].emplace_back(element.line, name);
      }
    };
    note(element.name);
    for (const auto& [name, value] : element.attributes) note(name);
    return element.name != "config";  // its properties are settings
  });
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].empty()) continue;
    const auto& [line, name] = found[i].front();
    const std::string more = found[i].size() > 1 ? fmt::format(" and {} more", found[i].size() - 1) : "";
    warnings.push_back(
        at_line(input, line, fmt::format("left out: '{}'{}: {}", name, more, left_out[i].second)));
  }
  return warnings;
}

/// SimGrid's sums of the decimals in the file, as a decimal.
Seconds rounded(double latency) {
  return Seconds{std::strtod(fmt::format("{:.15g}", latency).c_str(), nullptr)};
}

/// The links of each route that messages share, by place in SimgridPlatform::routes.
using Routes = std::vector<std::vector<int>>;

double narrowest(const SimgridPlatform& read, const SimgridPlatform::Route& route, bool is_fatpipe) {
  double least = config::most_bandwidth;
  for (const int link : route.links) {
    if (read.links[at(link)].is_fatpipe == is_fatpipe)
      least = std::min(least, read.links[at(link)].bandwidth);
  }
  return least;
}

/// The limit of each message by FATPIPE links; none, with a warning, if it differs from route to route.
void set_limit(const InputText& input, const XmlElement& root, const SimgridPlatform& read,
               FabricFile& fabric, std::vector<std::string>& warnings) {
  std::set<double> limits;
  double unlimited = 0;
  for (const SimgridPlatform::Route& route : read.routes) {
    if (route.links.empty()) continue;
    const double limit = narrowest(read, route, true), shared = narrowest(read, route, false);
    if (limit < shared * (1 - 1e-9))
      limits.insert(limit);
    else
      unlimited = std::max(unlimited, shared);
  }
  if (limits.size() == 1 && unlimited <= *limits.begin() * (1 + 1e-9)) {
    fabric.per_flow = Sourced<Bandwidth>{.value = Bandwidth{*limits.begin()}};
  } else if (!limits.empty()) {
    warnings.push_back(
        at_line(input, line_of(root, "FATPIPE"),
                fmt::format("left out: FATPIPE links limit the messages of some routes to {} and more; "
                            "here these have the rate of the links that they share",
                            human(Bandwidth{*limits.begin()}))));
  }
}

/// Hosts without any route, and the number of other pairs without one: ranks there cannot reach each other.
void warn_of_missing_routes(const InputText& input, const XmlElement& root, const SimgridPlatform& read,
                            std::vector<std::string>& warnings) {
  const std::size_t hosts = read.hosts.size();
  const auto has_route = [&](std::size_t from, std::size_t to) {
    return !read.routes[from * hosts + to].links.empty();
  };
  std::vector<bool> is_joined(hosts, false);
  std::size_t missing = 0;
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = 0; to < hosts; ++to) {
      if (from == to) continue;
      const bool has = has_route(from, to);
      if (has) is_joined[from] = is_joined[to] = true;
      missing += has ? 0 : 1;
    }
  }
  if (missing == 0) return;
  const auto alone = std::ranges::find(is_joined, false);
  if (alone == is_joined.end()) {
    warnings.push_back(
        at_line(input, root.line,
                fmt::format("{} of {} pairs of hosts have no route: their ranks cannot reach each other",
                            missing, hosts * (hosts - 1))));
    return;
  }
  const auto others = std::count(alone + 1, is_joined.end(), false);
  const std::string& name = read.hosts[static_cast<std::size_t>(alone - is_joined.begin())].name;
  warnings.push_back(
      at_line(input, line_of(root, name),
              fmt::format("no route leads to or from '{}'{}: its rank cannot be reached", name,
                          others > 0 ? fmt::format(" and {} more", plural(others, "host")) : "")));
}

/// A rate of NICs that never limits: that of all first or last links of a host together.
Bandwidth rate_of_nics(const SimgridPlatform& read, const Routes& routes) {
  std::map<std::pair<bool, std::size_t>, std::set<int>> ends;  // of the way in, and of a host
  for (std::size_t place = 0; place < routes.size(); ++place) {
    if (routes[place].empty()) continue;
    ends[{false, place / read.hosts.size()}].insert(routes[place].front());
    ends[{true, place % read.hosts.size()}].insert(routes[place].back());
  }
  double rate = 0;
  for (const auto& [end, links] : ends) {
    double sum = 0;
    for (const int link : links) sum += read.links[at(link)].bandwidth;
    rate = std::max(rate, sum);
  }
  return Bandwidth{rate > 0 ? rate : config::most_bandwidth};
}

/// Moves the links with which all routes out of a host begin, or into it end, to its ends.
void take_ends(const SimgridPlatform& read, bool is_in, Routes& routes, std::vector<RouteEnds>& ends) {
  for (std::size_t host = 0; host < ends.size(); ++host) {
    const auto each = [&](const auto& act) {
      for (std::size_t other = 0; other < ends.size(); ++other) {
        const std::size_t place = is_in ? other * ends.size() + host : host * ends.size() + other;
        if (!read.routes[place].links.empty()) act(routes[place]);
      }
    };
    std::optional<std::vector<int>> common;
    each([&](std::vector<int>& links) {
      if (is_in) std::ranges::reverse(links);
      if (!common) common = links;
      common->erase(std::ranges::mismatch(*common, links).in1, common->end());
    });
    if (!common) continue;
    each([&](std::vector<int>& links) {
      links.erase(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(common->size()));
      if (is_in) std::ranges::reverse(links);
    });
    if (is_in) std::ranges::reverse(*common);
    (is_in ? ends[host].in : ends[host].out) = *common;
  }
}

/// Routes with the same links and latency, as few entries: where a host of `to` sends alike, `to` has the
/// host itself too, so that the entries of all hosts of a cluster are one.
void list_routes(const SimgridPlatform& read, const Routes& routes, const auto& names, FabricFile& fabric) {
  using Kind = std::pair<std::vector<int>, Seconds>;
  const auto hosts = static_cast<int>(read.hosts.size());
  const auto place = [&](int from, int to) { return at(from * hosts + to); };
  const auto kind = [&](int from, int to) {
    return Kind{routes[place(from, to)], rounded(read.routes[place(from, to)].latency)};
  };
  std::map<std::pair<Kind, std::vector<int>>, std::vector<int>> entries;  // those who send, in order
  for (int from = 0; from < hosts; ++from) {
    std::map<Kind, std::vector<int>> targets;
    for (int to = 0; to < hosts; ++to) {
      if (!read.routes[place(from, to)].links.empty()) targets[kind(from, to)].push_back(to);
    }
    for (auto& [way, to] : targets) {
      if (kind(to.front(), from) == way) to.insert(std::ranges::lower_bound(to, from), from);
      entries[{way, to}].push_back(from);
    }
  }
  for (const auto& [key, from] : entries) {
    const auto& [way, to] = key;
    const Seconds more = way.second - fabric.latency->value;
    fabric.routes.push_back(
        {list_text("node", from) + ".nic0", list_text("node", to) + ".nic0", names(way.first),
         more > Seconds{} ? std::optional(Sourced<Seconds>{.value = more}) : std::nullopt});
  }
}

FabricFile fabric_of(const InputText& input, const XmlElement& root, const SimgridPlatform& read,
                     std::vector<std::string>& warnings) {
  FabricFile fabric;
  fabric.kind = FabricKind::routes;
  Routes routes;
  std::set<int> used;
  double latency = config::most_latency;
  for (const SimgridPlatform::Route& route : read.routes) {
    std::vector<int>& links = routes.emplace_back();
    if (!route.links.empty()) latency = std::min(latency, rounded(route.latency).si());
    for (const int link : route.links) {
      if (!read.links[at(link)].is_fatpipe) links.push_back(link);
    }
    used.insert(links.begin(), links.end());
  }
  set_limit(input, root, read, fabric, warnings);
  warn_of_missing_routes(input, root, read, warnings);
  fabric.nic = Sourced<Bandwidth>{.value = rate_of_nics(read, routes)};
  fabric.latency = Sourced<Seconds>{.value = Seconds{std::max(latency, config::least_latency)}};
  const auto names = [&](const std::vector<int>& links) {
    std::vector<std::string> some;
    for (const int link : links) {
      const std::string& name = read.links[at(link)].name;
      // those of nodes and NICs are ours
      some.push_back(name.starts_with("node") || name.starts_with("fabric") ? "simgrid." + name : name);
    }
    return some;
  };
  for (const int link : used)
    fabric.shared_links.push_back(
        {names({link}).front(), Sourced<Bandwidth>{.value = Bandwidth{read.links[at(link)].bandwidth}}});
  std::vector<RouteEnds> ends(read.hosts.size());
  take_ends(read, false, routes, ends);
  take_ends(read, true, routes, ends);
  for (std::size_t host = 0; host < ends.size(); ++host)
    fabric.ends.push_back({fmt::format("node{}.nic0", host), names(ends[host].out), names(ends[host].in)});
  list_routes(read, routes, names, fabric);
  return fabric;
}

double speed_of(const SimgridPlatform::Host& host) { return host.speed * host.cores; }

}  // namespace

FlopRate least_speed(const SimgridPlatform& read) {
  return FlopRate{speed_of(*std::ranges::min_element(read.hosts, {}, speed_of))};
}

PlatformDraft draft_of_simgrid(const InputText& input, const SimgridPlatform& read,
                               const PlatformAnswers& answers) {
  PlatformDraft draft;
  const XmlElement root = parse_xml(input);
  draft.warnings = left_out_of(input, root);
  const SimgridPlatform::Host& fastest = *std::ranges::max_element(read.hosts, {}, speed_of);
  if (speed_of(fastest) > least_speed(read).si() * (1 + 1e-9))
    draft.warnings.push_back(at_line(
        input, line_of(root, fastest.name),
        fmt::format("left out: '{}' is faster than others; all nodes are as fast as the slowest host, {}",
                    fastest.name, human(least_speed(read)))));
  draft.file.name = answers.name;
  draft.file.title = "SimGrid platform " + base_name(input.name);
  draft.file.source = {draft.file.title};
  draft.file.node.gpus = GpusFile{.count = 1, .profile = answers.gpu};
  draft.file.node.devices.nic.count = 1;
  LinkFile& link = draft.file.node.links.emplace_back();
  link.between = {"gpu0", "nic0"};
  link.kind = LinkKind::pcie4;
  link.bandwidth.value = Bandwidth{config::most_bandwidth};
  link.latency.value = Seconds{config::least_latency};
  draft.file.fabric = fabric_of(input, root, read, draft.warnings);
  draft.file.fabric->transport = answers.transport.value_or(Transport::tcp);
  std::string names;
  for (const SimgridPlatform::Host& host : read.hosts) names += (names.empty() ? "" : ", ") + host.name;
  draft.comments = {
      "Each host is a node, in this order: " + names + ".",
      "The link inside a node and the NICs never limit. Latencies and rates are those of the links, without "
      "the factors of SimGrid's default model."};
  std::ranges::copy(draft.warnings, std::back_inserter(draft.comments));
  return draft;
}

}  // namespace trainyard
