#include "exports/simgrid_xml.hpp"

#include "units/plural.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace trainyard {
namespace {

struct Way {
  int from = 0, to = 0;
  Route route;
  double bound = 0;    ///< highest rate of a message, bytes/s
  double inverse = 0;  ///< sum of 1 / bandwidth
};

std::string link_text(const std::string& id, double bandwidth, double latency, std::string_view sharing) {
  return fmt::format("    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n", id,
                     shortest(bandwidth), shortest(latency), sharing);
}

std::string limit_name(double limit) { return fmt::format("limit {}Bps", shortest(limit)); }

/// FATPIPE links, each once, by bandwidth and latency.
class FillLinks {
public:
  explicit FillLinks(const std::vector<Way>& ways) {
    double most = 0;
    for (const Way& way : ways) most = std::max(most, way.inverse);
    if (most > 0)
      weight_ = 1 / most;  // the sums are about 1: far from the rates at which SimGrid rounds to nothing
    for (const Way& way : ways)
      sum_ = std::max(sum_, way.inverse + way.route.latency.si() / weight_ + 1 / way.bound);
  }

  [[nodiscard]] double weight() const { return weight_; }

  /// The links that fill a route's sum: how many, all alike, and none slower than the message. Throws
  /// InputError if all routes have more than most_exported_crossings.
  std::pair<int, std::string> fill(const Way& way) {
    const double missing = sum_ - way.inverse - way.route.latency.si() / weight_;
    const double count = std::ceil(missing * way.bound * (1 - 1e-12));
    crossings_ += count;
    if (crossings_ > most_exported_crossings)
      throw InputError(
          fmt::format("the routes have more than {} links: a route that is faster than the slowest has "
                      "as many as make up for it",
                      grouped(most_exported_crossings)),
          "--nodes N: fewer nodes; or rates that differ less");
    const auto [link, is_new] =
        names_.try_emplace({count / missing, way.route.latency.si() / count}, std::string());
    if (is_new) {
      link->second = fmt::format("latency{}", names_.size() - 1);
      text_ += link_text(link->second, link->first.first, link->first.second, "FATPIPE");
    }
    return {static_cast<int>(count), link->second};
  }

  [[nodiscard]] const std::string& text() const { return text_; }

private:
  double weight_ = 1, sum_ = 0, crossings_ = 0;
  std::map<std::pair<double, double>, std::string> names_;
  std::string text_;
};

std::vector<Way> ways_of(const Cluster& cluster) {
  std::vector<Way> ways;
  for (int from = 0; from < cluster.ranks(); ++from) {
    for (int to = 0; to < cluster.ranks(); ++to) {
      if (from == to) continue;
      Way way{from, to, route(cluster, Rank{from}, Rank{to})};
      way.bound = way.route.limit.si();
      way.inverse = 1 / way.bound;
      for (const LinkId link : way.route.links) {
        way.bound = std::min(way.bound, capacity(cluster, link).si());
        way.inverse += 1 / capacity(cluster, link).si();
      }
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

std::string config_text(double weight) {
  std::string text = "  <config>\n";
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("    <prop id=\"{}\" value=\"{}\"/>\n", key, value);
  };
  add("network/model", "CM02");
  add("network/crosstraffic", "0");
  add("network/TCP-gamma", "1e30");
  add("network/weight-S", shortest(weight));
  add("surf/precision", "1e-15");  // its default is 10 us
  return text + "  </config>\n";
}

}  // namespace

std::string simgrid_xml(const Cluster& cluster, FlopRate speed) {
  if (cluster.ranks() > most_exported_hosts)
    throw InputError(fmt::format("{} and so {} routes", plural(cluster.ranks(), "host"),
                                 static_cast<long long>(cluster.ranks()) * (cluster.ranks() - 1)),
                     fmt::format("--nodes N: at most {} hosts are written", most_exported_hosts));
  const std::vector<Way> ways = ways_of(cluster);
  FillLinks fill(ways);
  std::set<LinkId> used;
  std::set<double> limits;
  const auto host = [&](int rank) {
    return fmt::format("node{}.{}", index(cluster.node_of(Rank{rank})),
                       cluster.platform.node[cluster.gpu_of(Rank{rank})].name);
  };
  std::string routes;
  for (const Way& way : ways) {
    routes +=
        fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", host(way.from), host(way.to));
    const auto cross = [&](const std::string& link) { routes += fmt::format("<link_ctn id=\"{}\"/>", link); };
    for (const LinkId link : way.route.links) cross(link_name(cluster, link));
    used.insert(way.route.links.begin(), way.route.links.end());
    if (std::isfinite(way.route.limit.si())) {
      cross(limit_name(way.route.limit.si()));
      limits.insert(way.route.limit.si());
    }
    const auto [count, name] = fill.fill(way);
    for (int i = 0; i < count; ++i) cross(name);
    routes += "</route>\n";
  }
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<!-- Written by trainyard. Links are directed. The FATPIPE links latencyN have the latencies of "
      "routes\n"
      "     and, with weight-S, let all messages share a link alike. -->\n<platform version=\"4.1\">\n" +
      config_text(fill.weight()) + "  <zone id=\"machine\" routing=\"Full\">\n";
  for (int rank = 0; rank < cluster.ranks(); ++rank)
    text += fmt::format("    <host id=\"{}\" speed=\"{}f\"/>\n", host(rank), shortest(speed.si()));
  for (const LinkId link : used)
    text += link_text(link_name(cluster, link), capacity(cluster, link).si(), 0, "SHARED");
  for (const double limit : limits) text += link_text(limit_name(limit), limit, 0, "FATPIPE");
  return text + fill.text() + routes + "  </zone>\n</platform>\n";
}

}  // namespace trainyard
