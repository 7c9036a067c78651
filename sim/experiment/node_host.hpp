#pragma once
// The host of a node as a resource: its ranks' threads that launch kernels, the threads that drive the
// network for them and the loader share its cores. Only a lowering says how long launches take; without one,
// the factors are 1 and the load is nothing.

#include "experiment/resolved_experiment.hpp"
#include "strategy/shared_host.hpp"
#include "units/quantity.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Cores of all CPUs of a node; 0: not known.
int cores_of_node(const Platform& platform);

/// Threads of a node with so many ranks that want a core while kernels are launched: one of each rank, and on
/// several nodes a second one where NCCL or RCCL drives the network. Source: NVIDIA/nccl src/proxy.cc,
/// ncclProxyProgress: one thread for each GPU, which polls while a collective runs; that of a GPU's launches
/// is the interpreter's in forward and autograd's in backward, where the interpreter waits (PyTorch
/// torch/csrc/autograd/engine.cpp).
int launching_threads(const ResolvedExperiment& resolved, int ranks, int nodes);

/// Factors for the ranks of the fullest node. More threads than cores take turns: each launch takes longer in
/// that proportion (two threads of one core at half of its speed each; simultaneous multithreading makes them
/// up to 1.3 times as fast, which is not counted). nn.DataParallel has one process with a thread for each GPU
/// in forward, and one of them holds Python's lock; backward has a thread for each GPU without that lock, and
/// one thread updates the parameters. Requires a cluster.
SharedHost shared_host(const ResolvedExperiment& resolved);

/// Time of all cores of a node with so many ranks for the launches of a step.
Seconds launching_load(const ResolvedExperiment& resolved, int ranks);

/// The causes of factors above 1; none if ranks do not wait for each other's launches.
std::vector<std::string> shared_host_notes(const ResolvedExperiment& resolved);

}  // namespace trainyard
