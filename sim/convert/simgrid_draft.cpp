#include "convert/simgrid_draft.hpp"

#include "interchange/xml.hpp"
#include "platform/plausible_limits.hpp"
#include "run/child_processes.hpp"
#include "units/ids.hpp"
#include "units/leading_number.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>

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

std::vector<std::string> left_out_of(const InputText& input) {
  std::array<std::vector<std::pair<int, std::string>>, left_out.size()> found;  // lines and names
  const auto visit = [&](const auto& self, const XmlElement& element) -> void {
    const auto note = [&](const std::string& name) {
      for (std::size_t i = 0; i < left_out.size(); ++i) {
        if (left_out[i].first.find(fmt::format(" {} ", name)) != std::string_view::npos)
          found[i].emplace_back(element.line, name);
      }
    };
    note(element.name);
    for (const auto& [name, value] : element.attributes) note(name);
    for (const XmlElement& child : element.children) {
      if (element.name != "config") self(self, child);
    }
  };
  visit(visit, parse_xml(input));
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

/// The line where a text in quotes first stands; 0 if it does not.
int line_of(const InputText& input, const std::string& name) {
  const std::size_t at = input.text.find('"' + name + '"');
  return at == std::string::npos ? 0
                                 : 1 + static_cast<int>(std::ranges::count(input.text.substr(0, at), '\n'));
}

/// SimGrid's "Parse error at FILE:LINE: TEXT"; other messages name an element in quotes or at the end.
InputError refusal(const InputText& input, const std::string& error) {
  const std::size_t quote = error.find('\'');
  int line = line_of(input, quote == std::string::npos
                                ? error.substr(error.rfind(' ') + 1)
                                : error.substr(quote + 1, error.find('\'', quote + 1) - quote - 1));
  std::string_view rest = error;
  if (const std::size_t start = error.find(input.name + ":"); start != std::string::npos) {
    rest.remove_prefix(start + input.name.size());
    line = take_number(rest, ":").value_or(line);
    rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  }
  return input_error(input.name, line,
                     "SimGrid refuses the file: " + std::string(rest.substr(0, rest.find('\n'))));
}

/// SimGrid ends the process at some wrong files: its reason, from a child. Empty if it does not.
std::string last_words(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> said(std::tmpfile(), std::fclose);
  if (said == nullptr) throw FileError("cannot make a temporary file");
  try {
    in_children(1, 1, [&](int) {
      ::dup2(::fileno(said.get()), STDERR_FILENO);
      return engine::read_simgrid_platform(file).error;
    });
    return {};
  } catch (const FileError&) {
    throw;
  } catch (const std::runtime_error&) {
    std::array<char, 1000> line{};
    std::rewind(said.get());
    if (std::fgets(line.data(), line.size(), said.get()) == nullptr) return "it gives no reason";
    const std::string words(line.data());  // "[0.000000] source.cpp:1: [root/CRITICAL] WORDS\n"
    return words.substr(words.rfind("] ") + 2, words.size() - words.rfind("] ") - 3);
  }
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
void set_limit(const InputText& input, const SimgridPlatform& read, FabricFile& fabric,
               std::vector<std::string>& warnings) {
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
        at_line(input, line_of(input, "FATPIPE"),
                fmt::format("left out: FATPIPE links limit the messages of some routes to {} and more; "
                            "here these have the rate of the links that they share",
                            human(Bandwidth{*limits.begin()}))));
  }
}

/// A rate of NICs that never limits: that of all first or last links of a host together.
Bandwidth rate_of_nics(const SimgridPlatform& read, const Routes& routes) {
  double rate = 0;
  for (const bool is_in : {false, true}) {
    std::vector<std::set<int>> ends(read.hosts.size());
    for (std::size_t place = 0; place < routes.size(); ++place) {
      if (routes[place].empty()) continue;
      ends[is_in ? place % ends.size() : place / ends.size()].insert(is_in ? routes[place].back()
                                                                           : routes[place].front());
    }
    for (const std::set<int>& links : ends) {
      double sum = 0;
      for (const int link : links) sum += read.links[at(link)].bandwidth;
      rate = std::max(rate, sum);
    }
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

FabricFile fabric_of(const InputText& input, const SimgridPlatform& read,
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
  set_limit(input, read, fabric, warnings);
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

SimgridPlatform read_simgrid(const InputText& input) {
  parse_xml(input);  // errors of the text, with their lines
  if (const std::string words = last_words(input.name); !words.empty()) throw refusal(input, words);
  SimgridPlatform read = engine::read_simgrid_platform(input.name);
  if (!read.error.empty()) throw refusal(input, read.error);
  if (read.hosts.size() < 2 || read.hosts.size() > engine::most_simgrid_hosts)
    throw input_error(
        input.name, 0, "a platform of SimGrid with " + plural(static_cast<int>(read.hosts.size()), "host"),
        fmt::format("2 to {} are read, with the route of each pair", engine::most_simgrid_hosts));
  for (const SimgridPlatform::Link& link : read.links) {
    if (!link.is_linear)
      throw input_error(input.name, line_of(input, link.name),
                        fmt::format("the bandwidth of the link {} depends on its load", shown(link.name)),
                        "links with the sharing_policy SHARED, SPLITDUPLEX and FATPIPE are read");
    if (!link.is_fatpipe &&
        (link.bandwidth < config::least_bandwidth || link.bandwidth > config::most_bandwidth))
      throw input_error(input.name, line_of(input, link.name),
                        fmt::format("the link {} has {}", shown(link.name), human(Bandwidth{link.bandwidth})),
                        "1 kB/s to 100 TB/s; a link that never limits is FATPIPE");
  }
  for (const SimgridPlatform::Route& route : read.routes)
    if (route.latency < 0)
      throw input_error(input.name, line_of(input, read.links[at(route.links.front())].name),
                        fmt::format("a route over the link {} has a latency of {:.3g} s",
                                    shown(read.links[at(route.links.front())].name), route.latency),
                        "the latencies of its links add up to 0 or more");
  return read;
}

FlopRate least_speed(const SimgridPlatform& read) {
  return FlopRate{speed_of(*std::ranges::min_element(read.hosts, {}, speed_of))};
}

PlatformDraft draft_of_simgrid(const InputText& input, const SimgridPlatform& read,
                               const PlatformAnswers& answers) {
  PlatformDraft draft;
  draft.warnings = left_out_of(input);
  const SimgridPlatform::Host& fastest = *std::ranges::max_element(read.hosts, {}, speed_of);
  if (speed_of(fastest) > least_speed(read).si() * (1 + 1e-9))
    draft.warnings.push_back(at_line(
        input, line_of(input, fastest.name),
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
  draft.file.fabric = fabric_of(input, read, draft.warnings);
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
