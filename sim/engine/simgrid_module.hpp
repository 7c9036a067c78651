#pragma once
// How the program finds SimGrid: a module with two functions, loaded by flow_network.cpp and made of
// simgrid_network.cpp.

#include "engine/flow_network.hpp"
#include "engine/simgrid_platform.hpp"

namespace trainyard::engine {

inline constexpr const char* simgrid_network_function = "trainyard_make_simgrid_network";
using MakeSimgridNetwork =
    ChangingNetwork*(const std::vector<Bandwidth>& links);  ///< its caller owns the network

inline constexpr const char* simgrid_platform_function = "trainyard_read_simgrid_platform";
using ReadSimgridPlatform = void(const char* file, SimgridPlatform& into);

}  // namespace trainyard::engine
