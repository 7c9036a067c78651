#pragma once
// A platform of SimGrid as SimGrid itself reads it: hosts, links, and the route of each pair.

#include <string>
#include <vector>

namespace trainyard::engine {

inline constexpr int most_simgrid_hosts = 1024;  ///< a million routes

struct SimgridPlatform {
  struct Host {
    std::string name;
    double speed = 0;  ///< of one core, flop/s
    int cores = 1;
  };
  struct Link {
    std::string name;
    double bandwidth = 0;     ///< bytes/s, shared by all messages
    bool is_fatpipe = false;  ///< no one shares: the limit of each message
    bool is_linear = true;    ///< false: SimGrid changes its bandwidth with the load (Wi-Fi)
  };
  struct Route {
    std::vector<int> links;  ///< by number, in travel order; empty: there is none
    double latency = 0;      ///< seconds
  };
  std::vector<Host> hosts;  ///< by name, numbers in it by value
  std::vector<Link> links;
  std::vector<Route> routes;  ///< [from * hosts + to]; none if there are more than most_simgrid_hosts
  std::string error;          ///< of SimGrid, about the file; empty: it was read
};

/// Once per process, which then has no network on SimGrid. SimGrid ends the process at some wrong files,
/// after a message on stderr. Throws FileError if the module with SimGrid cannot be loaded.
SimgridPlatform read_simgrid_platform(const std::string& file);

}  // namespace trainyard::engine
