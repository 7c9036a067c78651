#pragma once
// How long the host of a machine takes to launch kernels, relative to the one on which a lowering's host
// times were measured.

#include "platform/platform.hpp"

namespace trainyard {

/// The factor on the host times of a lowering: as the platform states it (node.host.launch), otherwise
/// assumed from the year in which the machine came out: 1 for 2022, when the DGX H100 got the reference
/// host's generation of processors (Sapphire Rapids), and 3.5 % less time with each later year, 1 without a
/// year. Source of the rate: Hennessy and Patterson, Computer Architecture, 6th edition (2017), figure 1.1,
/// SPECint of one thread from 2015 on. It is coarse: processors of one year differ by more.
Sourced<double> host_launch(const Platform& platform);

}  // namespace trainyard
