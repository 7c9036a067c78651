#pragma once
// How the program finds SimGrid: a module with one function, loaded by flow_network.cpp and made of
// simgrid_network.cpp.

#include "engine/flow_network.hpp"

namespace trainyard::engine {

inline constexpr const char* simgrid_module_function = "trainyard_make_simgrid_network";
using MakeSimgridNetwork =
    ChangingNetwork*(const std::vector<Bandwidth>& links);  ///< its caller owns the network

}  // namespace trainyard::engine
