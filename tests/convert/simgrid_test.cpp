// Platforms of SimGrid: what is written takes as long on SimGrid itself as here, and so does what is read.

#include "cli/process.hpp"
#include "collectives/planner.hpp"
#include "collectives/protocols.hpp"
#include "config/document.hpp"
#include "convert/simgrid_draft.hpp"
#include "convert/simgrid_file.hpp"
#include "engine/engine.hpp"
#include "engine/flat_network.hpp"
#include "engine/flow_network.hpp"
#include "exports/simgrid_xml.hpp"
#include "interchange/platform_text.hpp"
#include "platform/channels.hpp"
#include "platform/load.hpp"
#include "run/child_processes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

/// So many messages between two hosts, one after the other; all groups begin at once.
struct Messages {
  int from = 0, to = 0;
  double bytes = 1e6;
  int times = 1;
};

const char* const without_corrections =
    "--cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:1e30 "
    "--cfg=surf/precision:1e-15 ";

/// When they end on SimGrid, of which no code of ours is part. `options`: for files without a config.
std::vector<double> ends_on_simgrid(const std::string& file, const std::vector<std::string>& hosts,
                                    const std::vector<Messages>& groups, const std::string& options = {}) {
  std::string command = MESSAGES_ON_SIMGRID " '" + file + "' --log=root.thres:error " + options;
  for (const Messages& group : groups)
    command += fmt::format(" '{}' '{}' {:.0f} {}", hosts[at(group.from)], hosts[at(group.to)], group.bytes,
                           group.times);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<double> ends;
  for (double date = 0; std::fscanf(pipe, "%lf", &date) == 1;) ends.push_back(date);
  CHECK(::pclose(pipe) == 0);
  REQUIRE(ends.size() == groups.size());
  return ends;
}

/// Sends them over the cluster's routes as the engine does: latencies on the calendar, a limit per connection
/// as a link of its own.
class Sender final : public engine::Listener {
public:
  Sender(const Cluster& cluster, const std::vector<Messages>& groups) : groups_(groups) {
    const LinkValues<Bandwidth> all = link_capacities(cluster);
    std::vector<Bandwidth> capacities;
    for (std::uint32_t link = 0; link < link_count(cluster); ++link) capacities.push_back(all[link]);
    std::vector<std::vector<int>> routes;
    for (const Messages& group : groups) {
      const Route way = route(cluster, Rank{group.from}, Rank{group.to});
      std::vector<int>& links = routes.emplace_back();
      for (const LinkId link : way.links) links.push_back(static_cast<int>(index(link)));
      if (way.limit.si() < 1e18) {
        links.push_back(static_cast<int>(capacities.size()));
        capacities.push_back(way.limit);
      }
      latencies_.push_back(way.latency.si());
      left_.push_back(group.times);
    }
    network_ = engine::make_simgrid_network(capacities);
    for (const std::vector<int>& links : routes) network_->add_route(links);
    ends_.resize(groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group) send(group, 0);
    network_->run(calendar_, *this);
  }
  void on_event(const engine::Event& event) override {
    network_->start(event.target, Bytes{groups_[at(event.target)].bytes},
                    static_cast<std::uint64_t>(event.target));
  }
  void on_delivered(std::uint64_t group, double date) override {
    ends_[group] = date;
    if (--left_[group] > 0) send(group, date);
  }
  [[nodiscard]] const std::vector<double>& ends() const { return ends_; }

private:
  void send(std::size_t group, double date) {
    calendar_.enter(date + latencies_[group], engine::EventKind::wake, static_cast<int>(group));
  }

  const std::vector<Messages>& groups_;
  std::vector<double> latencies_, ends_;
  std::vector<int> left_;
  engine::Calendar calendar_;
  std::unique_ptr<engine::ChangingNetwork> network_;
};

std::vector<double> ends_here(const Cluster& cluster, const std::vector<Messages>& groups) {
  return unpacked(in_children(1, 1, [&](int) { return packed(Sender(cluster, groups).ends()); }).front());
}

void check_same(const std::vector<double>& ones, const std::vector<double>& others) {
  REQUIRE(ones.size() == others.size());
  for (std::size_t i = 0; i < ones.size(); ++i) {
    CAPTURE(i);
    CHECK(ones[i] == doctest::Approx(others[i]).epsilon(1e-9));
  }
}

Cluster shipped(const std::string& name, int nodes) {
  const std::string file = std::string(TRAINYARD_SOURCE_DIR "/platforms/") + name + ".yaml";
  return make_cluster(load_platform(config::parse(file, content(file))), nodes);
}

std::vector<std::string> hosts_of(const Cluster& cluster) {
  std::vector<std::string> names;
  for (int rank = 0; rank < cluster.ranks(); ++rank)
    names.push_back(fmt::format("node{}.{}", index(cluster.node_of(Rank{rank})),
                                cluster.platform.node[cluster.gpu_of(Rank{rank})].name));
  return names;
}

/// A platform of SimGrid and what was made of it.
struct Read {
  std::vector<std::string> hosts;
  std::string text, warnings;
  [[nodiscard]] Cluster cluster() const {
    return make_cluster(load_platform(config::parse("own.yaml", text)), static_cast<int>(hosts.size()));
  }
};

/// Read in a child: SimGrid reads one platform in a process. Throws InputError.
Read read(const std::string& file) {
  const std::string answer = in_children(1, 1, [&](int) {
                               std::signal(SIGABRT, SIG_DFL);  // SimGrid's ends are not the test's
                               const InputText input{file, content(file)};
                               PlatformAnswers answers;
                               answers.name = "own";
                               answers.gpu = "v100_sxm2_16gb";
                               try {
                                 const engine::SimgridPlatform platform = read_simgrid(input);
                                 const PlatformDraft draft = draft_of_simgrid(input, platform, answers);
                                 std::string all = platform_text(draft) + '\f';
                                 for (const std::string& warning : draft.warnings) all += warning + '\n';
                                 for (const auto& host : platform.hosts) all += '\f' + host.name;
                                 return all;
                               } catch (const InputError& wrong) {
                                 return std::string("\v") + wrong.what();
                               }
                             }).front();
  if (answer.starts_with('\v')) throw InputError(answer.substr(1));
  Read result;
  std::size_t end = answer.find('\f');
  result.text = answer.substr(0, end);
  const std::size_t start = end + 1;
  end = answer.find('\f', start);
  result.warnings = answer.substr(start, end - start);
  while (end != std::string::npos) {
    const std::size_t name = end + 1;
    end = answer.find('\f', name);
    result.hosts.push_back(answer.substr(name, end - name));
  }
  return result;
}

std::string platform_xml(const std::string& body) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         body + "</platform>\n";
}

const std::string backbone =
    R"(<cluster id="c" prefix="n" suffix=".x" radical="0-11" speed="3Gf" bw="1.25GBps" lat="20us" bb_bw="4GBps" bb_lat="5us"/>)"
    "\n";
const std::string fat_tree =
    R"(<zone id="w" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-7" speed="3Gf" bw="1.25GBps" lat="20us" topology="FAT_TREE" topo_parameters="2;4,2;1,2;1,2"/></zone>)"
    "\n";
const std::string torus =
    R"(<zone id="w" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-11" speed="3Gf" bw="1.25GBps" lat="20us" topology="TORUS" topo_parameters="4,3"/></zone>)"
    "\n";
const std::string dragonfly =
    R"(<zone id="w" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-15" speed="3Gf" bw="1.25GBps" lat="20us" topology="DRAGONFLY" topo_parameters="2,2;2,1;2,1;2"/></zone>)"
    "\n";
/// Links that both directions share, a route that the way back does not mirror, routers, a limit of FATPIPE.
const std::string own_routes = R"(<zone id="w" routing="Full">
  <host id="a" speed="3Gf"/><host id="b" speed="3Gf" core="2"/><host id="c" speed="4Gf"><disk id="d" read_bw="1GBps" write_bw="1GBps"/></host>
  <link id="left" bandwidth="1GBps" latency="20us"/><link id="right" bandwidth="2GBps" latency="20us"/>
  <link id="back" bandwidth="3GBps" latency="40us"/><link id="wide" bandwidth="9GBps" latency="0us" sharing_policy="FATPIPE"/>
  <route src="a" dst="b"><link_ctn id="left"/><link_ctn id="right"/><link_ctn id="wide"/></route>
  <route src="a" dst="c" symmetrical="NO"><link_ctn id="left"/><link_ctn id="right"/></route>
  <route src="c" dst="a" symmetrical="NO"><link_ctn id="back"/></route>
</zone>
)";
const std::string floyd = R"(<zone id="w" routing="Floyd">
  <host id="h2" speed="1Gf"/><host id="h10" speed="1Gf"/><host id="h1" speed="1Gf"/><router id="r"/>
  <link id="l1" bandwidth="1GBps" latency="20us" sharing_policy="SPLITDUPLEX"/>
  <link id="l2" bandwidth="1GBps" latency="20us"/><link id="l10" bandwidth="3GBps" latency="20us"/>
  <route src="h1" dst="r"><link_ctn id="l1" direction="UP"/></route>
  <route src="h2" dst="r"><link_ctn id="l2"/></route><route src="h10" dst="r"><link_ctn id="l10"/></route>
</zone>
)";

/// A change of a file, and its error.
struct Mistake {
  const std::string& whole;
  const char *from, *to;
  int line;
  const char *message, *hint;
};

std::vector<Mistake> mistakes(const std::string& routes, const std::string& cluster) {
  return {
      {routes, "routing=\"Full\"", "routing=\"Nonsense\"", 4, "<zone> has routing='Nonsense'", "Dijkstra"},
      {routes, "core=\"2\"", "core=\"0\"", 5, "<host> has core='0'", "at least 1"},
      {routes, "core=\"2\"", "core=\"99999999999\"", 5, "<host> has core=", "at least 1"},
      {routes, "speed=\"4Gf\"", "speed=\"0f\"", 5, "the host 'c' has 0 FLOP/s", "above 0"},
      {routes, "speed=\"4Gf\"", "speed=\"-1f\"", 5, "the host 'c' has -1 FLOP/s", "above 0"},
      {routes, "speed=\"4Gf\"", "speed=\"nanf\"", 5, "the host 'c' has nan FLOP/s", "above 0"},
      {routes, "speed=\"4Gf\"", "speed=\"1e999f\"", 5, "out of range", "with units"},
      {routes, "speed=\"4Gf\"", "speed=\"4GBps\"", 5, "unknown unit", "with units"},
      {routes, "speed=\"4Gf\"", "speed=\"4Gf\" pstate=\"7\"", 5, "pstate 7", "XML_reference"},
      {routes, "id=\"c\" speed", "id=\"a\" speed", 5, "second host named 'a'", "once"},
      {routes, "bandwidth=\"1GBps\"", "bandwidth=\"much\"", 6, "SimGrid refuses", "with units"},
      {routes, "bandwidth=\"1GBps\"", "bandwidth=\"nanBps\"", 6, "the link 'left' has nan", "1 kB/s"},
      {routes, "id=\"right\" band", "id=\"left\" band", 6, "declared several times", "once"},
      {routes, "latency=\"40us\"", "latency=\"-40us\"", 7, "<link> has latency='-40us'", "0 s or more"},
      {routes, "latency=\"40us\"", "latency=\"nans\"", 7, "has a latency of nan s", "0 to 1 s"},
      {routes, "latency=\"40us\"", "latency=\"infs\"", 7, "has a latency of inf s", "0 to 1 s"},
      {routes, "src=\"a\" dst=\"b\"", "src=\"z\" dst=\"b\"", 8, "src='z'", "before the routes"},
      {routes, "<link_ctn id=\"left\"/><link_ctn id=\"right\"/></route>", "</route>", 9,
       "Empty route (between a and c)", "XML_reference"},
      {routes, "link_ctn id=\"back\"", "link_ctn id=\"bcak\"", 10, "bcak", "before the routes"},
      {routes, "<route src=\"c\" dst=\"a\"", "<route src=\"a\" dst=\"c\"", 10,
       "between a and c already exists", "once"},
      {routes, "version=\"4.1\"", "version=\"3\"", 3, "TOO OLD", "simgrid_update_xml"},
      {routes, "version=\"4.1\"", "version=\"99\"", 3, "FUTURE", "4.1"},
      {routes, "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">", "", 3, "no DOCTYPE",
       "simgrid.dtd"},
      {routes, "<zone id=\"w\" routing=\"Full\">",
       "<config><prop id=\"no/key\" value=\"1\"/></config><zone id=\"w\" routing=\"Full\">", 4,
       "<config> sets 'no/key'", "leave it out"},
      {routes, "<zone id=\"w\" routing=\"Full\">",
       "<config><prop id=\"tracing/filename\" value=\"a\"/></config><zone id=\"w\" routing=\"Full\">", 4,
       "<config> sets 'tracing/filename'", "leave it out"},
      {cluster, "radical=\"0-7\"", "radical=\"0-99999999999\"", 4, "radical='0-99999999999'", "0-15,20"},
      {cluster, "radical=\"0-7\"", "radical=\"0-200000000\"", 4, "radical='0-200000000'", "at most 1024"},
      {cluster, "radical=\"0-7\"", "radical=\"7-0\"", 4, "radical='7-0'", "0-15,20"},
      {cluster, "radical=\"0-7\"", "radical=\"a\"", 4, "radical='a'", "0-15,20"},
      {cluster, "2;4,2;1,2;1,2", "2;99999999999,2;1,2;1,2", 4, "topo_parameters=", "whole numbers"},
      {cluster, "2;4,2;1,2;1,2", "2;4,2;1,2;1,1000000", 4, "topo_parameters=", "up to 1000"},
      {cluster, "2;4,2;1,2;1,2", "2;4,4;1,2;1,2", 4, "Insufficient number of radicals", "as many hosts"},
      {cluster, "\"FAT_TREE\" topo_parameters=\"2;4,2;1,2;1,2\"",
       "\"DRAGONFLY\" topo_parameters=\"0,2;2,1;2,1;2\"", 4, "Invalid number of groups", "XML_reference"},
      {cluster, "lat=\"20us\"", "lat=\"-20us\"", 4, "<cluster> has lat='-20us'", "0 s or more"}};
}

}  // namespace

TEST_CASE("a written machine's messages, alone and beside others, take as long on SimGrid as here") {
  const Scratch scratch;
  const struct {
    const char* name;
    int nodes;
  } machines[] = {{"dgx1v", 2}, {"p3dn_24xlarge", 2}, {"ts4", 1}, {"dlperf", 2}, {"xeon_cluster", 3}};
  for (const auto& [name, nodes] : machines) {
    CAPTURE(name);
    const Cluster cluster = shipped(name, nodes);
    const std::string file = scratch.put("platform.xml", simgrid_xml(cluster, FlopRate{1e12}));
    const int last = cluster.ranks() - 1;
    check_same(ends_on_simgrid(file, hosts_of(cluster), {{0, last, 1e6}}),
               ends_here(cluster, {{0, last, 1e6}}));
    // near and far partners, with unlike latencies, share the links of one host
    std::vector<Messages> all;
    for (int rank = 1; rank <= last; ++rank) {
      all.push_back({0, rank, 1e6 * rank});
      all.push_back({rank, 0, 3e6, 2});
    }
    check_same(ends_on_simgrid(file, hosts_of(cluster), all), ends_here(cluster, all));
  }
}

TEST_CASE("a read platform's messages take as long here as on SimGrid, in each kind of zone") {
  const Scratch scratch;
  std::string dijkstra = floyd;
  dijkstra.replace(dijkstra.find("Floyd"), 5, "Dijkstra");
  for (const std::string& body : {backbone, fat_tree, torus, dragonfly, floyd, dijkstra}) {
    CAPTURE(body);
    const std::string file = scratch.put("own.xml", platform_xml(body));
    const Read own = read(file);
    const Cluster cluster = own.cluster();
    const auto hosts = static_cast<int>(own.hosts.size());
    std::vector<Messages> ring, pairs;
    for (int host = 0; host < hosts; ++host) {
      ring.push_back({host, (host + 1) % hosts, 4e6, 3});
      pairs.push_back({host, (host + hosts / 2) % hosts, 8e6});
    }
    const auto check = [&](const std::vector<Messages>& groups) {
      check_same(ends_here(cluster, groups), ends_on_simgrid(file, own.hosts, groups, without_corrections));
    };
    check({{0, hosts - 1, 8e6}});
    check({{0, hosts - 1, 8e6}, {0, hosts - 1, 3e6, 2}});  // share each link
    if (body != torus && body != dragonfly) check(ring);
    if (body == backbone || body == torus) check(pairs);  // CM02 shares alike where latencies are alike
  }
}

TEST_CASE("an all-reduce on a read cluster takes as long as its messages on SimGrid") {
  const Scratch scratch;
  const std::string file = scratch.put("own.xml", platform_xml(backbone));
  const Read own = read(file);
  const Cluster cluster = own.cluster();
  const int n = cluster.ranks();
  const Bytes size{12e6};
  Pattern ring;
  for (int rank = 0; rank < n; ++rank) {
    const Route way = route(cluster, Rank{rank}, Rank{(rank + 1) % n});
    const std::int32_t before[] = {(rank + n - 1) % n};
    ring.add_edge({Rank{rank}, Rank{(rank + 1) % n}}, way.links, before);
  }
  const LinkValues<Bandwidth> all = link_capacities(cluster);
  std::vector<Bandwidth> capacities;
  for (std::uint32_t link = 0; link < link_count(cluster); ++link) capacities.push_back(all[link]);
  Program program;
  program.streams[0] = {Join{0}};
  TaskGraph graph = testing::graph_of(n, program, capacities);
  graph.patterns.push_back(ring);
  graph.collectives.push_back(testing::ring_collective(0, n, size, route(cluster, Rank{0}, Rank{1}).latency));
  std::vector<Messages> rounds;
  for (int rank = 0; rank < n; ++rank) rounds.push_back({rank, (rank + 1) % n, size.si() / n, 2 * (n - 1)});
  const double there = ends_on_simgrid(file, own.hosts, rounds, without_corrections).front();
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::flow, Fidelity::messages}) {
    const double here = unpacked(in_children(1, 1,
                                             [&](int) {
                                               const Timeline timeline =
                                                   run(graph, {.fidelity = fidelity, .recorded = {}});
                                               const CollectiveSpan& span = timeline.collectives.front();
                                               return packed({(span.end - span.start).si()});
                                             })
                                     .front())
                            .front();
    CHECK(here == doctest::Approx(there).epsilon(1e-9));
  }
}

TEST_CASE("a cluster is few lines, its hosts in the order of their numbers") {
  const Scratch scratch;
  const Read own = read(scratch.put("own.xml", platform_xml(backbone)));
  CHECK(own.hosts[2] == "n2.x");
  CHECK(own.hosts[10] == "n10.x");
  CHECK(has(own.text, "{from: \"node[0-11].nic0\", to: \"node[0-11].nic0\", over: []}"));
  CHECK(has(own.text, "nic: 10 Gbps"));
  CHECK(has(own.text, "latency: 45 us"));
  CHECK(own.warnings.empty());
}

TEST_CASE("links that both directions share, one-way routes, limits and what is left out") {
  const Scratch scratch;
  const std::string file = scratch.put("own.xml", platform_xml(own_routes));
  const Read own = read(file);
  CHECK(has(own.warnings, "own.xml:5: left out: 'disk': reading samples takes no time"));
  CHECK(has(own.warnings, "'b' is faster than others"));
  const Cluster cluster = own.cluster();
  const std::vector<Messages> both = {{0, 1, 1e6}, {1, 0, 1e6}, {2, 0, 3e6}};
  check_same(ends_here(cluster, both), ends_on_simgrid(file, own.hosts, both, without_corrections));
  CHECK(ends_here(cluster, both).front() == doctest::Approx(2e-3 + 40e-6).epsilon(1e-9));
  CHECK_THROWS_AS(route(cluster, Rank{1}, Rank{2}), Unreachable);

  CHECK(has(own.warnings, "own.xml:3: 2 of 6 pairs of hosts have no route"));

  std::string limited = own_routes;
  limited.replace(limited.find("9GBps"), 5, "4MBps");
  const Read slow = read(scratch.put("slow.xml", platform_xml(limited)));
  CHECK(has(slow.warnings, "FATPIPE links limit the messages of some routes to 4 MB/s"));
}

TEST_CASE("a host that no route joins with others is named") {
  const Scratch scratch;
  const Read two = read(scratch.put("two.xml", platform_xml(R"(<zone id="w" routing="Full">
  <host id="a" speed="3Gf"/><host id="b" speed="3Gf"/><host id="far" speed="3Gf"/>
  <link id="l" bandwidth="1GBps" latency="20us"/><route src="a" dst="b"><link_ctn id="l"/></route>
</zone>
)")));
  CHECK(has(two.warnings, "two.xml:5: no route leads to or from 'far': its rank cannot be reached"));
}

TEST_CASE("collectives over a FATPIPE link, which nothing shares, take no longer than over a SHARED one") {
  const Scratch scratch;
  const auto time_over = [&](const std::string& policy, double size) {
    const Read here = read(scratch.put(policy + ".xml", platform_xml(R"(<zone id="w" routing="Full">
  <host id="a" speed="3Gf"/><host id="b" speed="3Gf"/>
  <link id="l" bandwidth="1.25GBps" latency="20us" sharing_policy=")" +
                                                                     policy + R"("/>
  <route src="a" dst="b"><link_ctn id="l"/></route>
</zone>
)")));
    const Cluster cluster = here.cluster();
    const Protocols constants =
        load_protocols(config::load(TRAINYARD_SOURCE_DIR "/platforms/protocols/nccl.yaml"));
    const CollectiveSoftware software{
        .version = NcclVersion::v2_7_8,
        .overheads = overheads_of(constants, NcclVersion::v2_7_8, cluster.platform),
        .compute_capability = 70};
    Planner planner(cluster, software, {.operation = Operation::all_reduce, .groups = {all_ranks(cluster)}});
    std::vector<Pattern> patterns;
    return time_alone(planner.collective(Bytes(size), patterns),
                      [&](int pattern) { return rate_alone(cluster, patterns[at(pattern)]); });
  };
  for (const double size : {1e3, 1e6, 256e6}) CHECK(time_over("FATPIPE", size) <= time_over("SHARED", size));
}

TEST_CASE("a machine that was written and read again has the same routes and times") {
  const Scratch scratch;
  const Cluster cluster = shipped("dlperf", 2);
  const std::string file = scratch.put("again.xml", simgrid_xml(cluster, FlopRate{1e12}));
  const Read own = read(file);
  CHECK(own.hosts == hosts_of(cluster));
  const Cluster again = own.cluster();
  std::vector<Messages> all;
  for (int rank = 0; rank < cluster.ranks(); ++rank)
    all.push_back({rank, (rank + 5) % cluster.ranks(), 30e6});
  check_same(ends_here(again, all), ends_here(cluster, all));
  const std::string twice = simgrid_xml(again, FlopRate{1e12});
  CHECK(read(scratch.put("twice.xml", twice)).hosts.size() == own.hosts.size());
}

TEST_CASE("damaged and foreign files are errors at their line, with a hint") {
  const Scratch scratch;
  const auto error = [&](const std::string& text) {
    const std::string file = scratch.put("bad.xml", text);
    try {
      read(file);
    } catch (const InputError& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  const std::string routes = platform_xml(own_routes), cluster = platform_xml(fat_tree);
  for (const auto& [whole, from, to, line, message, hint] : mistakes(routes, cluster)) {
    CAPTURE(to);
    std::string text = whole;
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), std::strlen(from), to);
    const std::string found = error(text);
    CAPTURE(found);
    CHECK(has(found, fmt::format("bad.xml:{}:1: error: ", line)));
    CHECK(has(found, message));
    CHECK(has(found.substr(std::min(found.find('\n'), found.size())), hint));
  }
  CHECK(has(error(platform_xml("")), "bad.xml:3:1: error: <platform> has no zone"));
  CHECK(has(error(platform_xml("<zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone>\n")),
            "with 1 host"));
  CHECK(has(error(routes.substr(0, routes.size() / 2)), "bad.xml:"));
  for (std::size_t end = 0; end < routes.size(); end += 97) CHECK_FALSE(error(routes.substr(0, end)).empty());
}

TEST_CASE("more hosts and longer routes than are written are named") {
  // a message between GPUs of a node fills its route with as many links as it is faster than the network
  const std::string file = TRAINYARD_SOURCE_DIR "/platforms/p3dn_24xlarge.yaml";
  std::string text = content(file);
  REQUIRE(text.find("nic: {value: 100 Gbps") != std::string::npos);
  text.replace(text.find("nic: {value: 100 Gbps") + 13, 8, "1 Mbps");
  const Cluster slow = make_cluster(load_platform(config::parse(file, text)), 2);
  CHECK_THROWS_WITH_AS(simgrid_xml(slow, FlopRate{1e12}), doctest::Contains("more than 2,000,000 links"),
                       InputError);
  CHECK_THROWS_WITH_AS(simgrid_xml(shipped("dgx_a100", 33), FlopRate{1e12}), doctest::Contains("264 hosts"),
                       InputError);
}
