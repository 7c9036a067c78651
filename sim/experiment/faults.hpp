#pragma once
// Faults during a job of hours or months, and the job's measures against them: the `faults` of an experiment.

#include "config/keys.hpp"
#include "platform/plausible_limits.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FaultyThing { rank, node, link, server, job };

/// All parts of one kind fail from time to time, independently.
struct FaultRate {
  FaultyThing of = FaultyThing::node;
  Seconds every;         ///< mean time between two faults of one of them, exponentially distributed
  bool planned = false;  ///< the job writes a checkpoint before it stops, and loses no work
};

struct FaultDate {
  FaultyThing of = FaultyThing::node;
  int number = 0;  ///< index, from 0
  Seconds at;      ///< since the beginning of the job
  bool planned = false;
};

/// Copies of the state in the memory of other nodes. Source: Wang et al. 2023, GEMINI (SOSP), "Fast failure
/// recovery in distributed training with in-memory checkpoints".
struct CopiesInMemory {
  Seconds every;   ///< time from one copy to the next
  int copies = 1;  ///< of a node's state, in the memory of the next nodes
};

struct Checkpoint {
  std::optional<Seconds> every;             ///< default: Daly's interval
  std::optional<Bandwidth> bandwidth;       ///< of the storage; default: the machine's shared storage
  std::optional<Bandwidth> node_bandwidth;  ///< at which each node writes its part; default: no limit
  std::optional<Bytes> size;                ///< default: the parameters and the optimizer's state in fp32
  bool asynchronous = false;                ///< training goes on once the state is copied into host memory
  std::optional<CopiesInMemory> in_memory = {};
};

struct Faults {
  Seconds work;     ///< time that the job would take without faults and checkpoints
  Seconds restart;  ///< from a fault until the failed part works again: noticed, replaced, loaded
  std::optional<Seconds> repair;  ///< of a node that failed; default: a spare is always there
  int spares = 0;                 ///< nodes that wait to take its place
  bool elastic = false;           ///< replicas that have all their nodes go on if no spare is there
  std::optional<Checkpoint> checkpoint;
  std::vector<FaultRate> rates;
  std::vector<FaultDate> dates;
  int runs = 200;  ///< with different random numbers; their mean is reported; one if nothing is random
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<FaultyThing> {
  static constexpr std::string_view what = "kind of fault";
  static constexpr std::array table{
      Name{"rank", FaultyThing::rank, "a rank, by its number"},
      Name{"node", FaultyThing::node, "a node with its ranks and the parameter servers on it"},
      Name{"link", FaultyThing::link,
           "a network card's link to the fabric; a fault cuts off the ranks of its node"},
      Name{"server", FaultyThing::server, "a parameter server, by the number of its shard"},
      Name{"job", FaultyThing::job, "the whole job, of which no node fails: software, maintenance"},
      Name{"worker", FaultyThing::rank, "the former name of rank"}};
};

namespace fault_limits {

inline constexpr double shortest = 1e-3, longest = 1e10;  // in s

}  // namespace fault_limits

template <>
struct Keys<FaultRate> {
  static auto table() {
    return keys(required("of", &FaultRate::of, "kind of fault"),
                required("every", &FaultRate::every, "mean time between two faults of one such part")
                    .between(fault_limits::shortest, fault_limits::longest),
                optional("planned", &FaultRate::planned,
                         "true: maintenance; the job writes a checkpoint before it stops"));
  }
};

template <>
struct Keys<FaultDate> {
  static auto table() {
    return keys(required("of", &FaultDate::of, "kind of fault"),
                optional("number", &FaultDate::number, "number of the failing part, from 0").between(0, 1e7),
                required("at", &FaultDate::at, "time since the beginning of the job")
                    .between(0, fault_limits::longest),
                optional("planned", &FaultDate::planned,
                         "true: maintenance; the job writes a checkpoint before it stops"));
  }
};

template <>
struct Keys<CopiesInMemory> {
  static auto table() {
    return keys(required("every", &CopiesInMemory::every, "time from one copy of the state to the next")
                    .between(fault_limits::shortest, fault_limits::longest),
                optional("copies", &CopiesInMemory::copies,
                         "copies of a node's state, in the memory of as many other nodes")
                    .between(1, 16));
  }
};

template <>
struct Keys<Checkpoint> {
  static auto table() {
    return keys(
        optional("every", &Checkpoint::every,
                 "time from the end of one checkpoint to the beginning of the next; default: Daly's interval")
            .between(fault_limits::shortest, fault_limits::longest),
        optional("bandwidth", &Checkpoint::bandwidth,
                 "rate at which the storage takes a checkpoint; default: the machine's shared storage")
            .positive(100e12),
        optional("node_bandwidth", &Checkpoint::node_bandwidth,
                 "rate at which each node writes its part of the state; default: the storage alone limits it")
            .positive(100e12),
        optional("size", &Checkpoint::size,
                 "size of a checkpoint; default: parameters and optimizer state in 4 bytes per value")
            .positive(1e15),
        optional("asynchronous", &Checkpoint::asynchronous,
                 "true: training waits only until the state is copied into host memory, from where it is "
                 "written meanwhile; false: until it is written"),
        optional("in_memory", &Checkpoint::in_memory,
                 "copies of the state in the memory of other nodes, from which the job continues if one "
                 "holder of each part is left"));
  }
};

template <>
struct Keys<Faults> {
  static auto table() {
    return keys(
        required("work", &Faults::work, "duration of the job without faults and checkpoints")
            .between(fault_limits::shortest, fault_limits::longest),
        required("restart", &Faults::restart,
                 "time from a fault until the failed part works again: noticed, replaced, checkpoint read")
            .between(0, fault_limits::longest),
        optional("repair", &Faults::repair,
                 "time after which a node that failed, or one of whose ranks or links did, is back; default: "
                 "another takes its place during the restart")
            .between(0, fault_limits::longest),
        optional("spares", &Faults::spares,
                 "nodes that wait to take the place of one that is repaired; without one the job waits")
            .between(0, most_nodes),
        optional("elastic", &Faults::elastic,
                 "true: where no spare is left, replicas that have all their nodes go on without the others"),
        optional("checkpoint", &Faults::checkpoint,
                 "checkpoints, from which the job continues after a fault"),
        optional("rates", &Faults::rates, "random faults"),
        optional("dates", &Faults::dates, "faults at fixed times"),
        optional("runs", &Faults::runs,
                 "number of runs with different random numbers; their mean counts; 1 if nothing is drawn")
            .between(2, 1e5));
  }
};

}  // namespace trainyard::config
