#pragma once
// Faults during a job of hours or months, and the job's measures against them: the `faults` of an experiment.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace trainyard {

enum class FaultyThing { rank, node, link, server };

/// All parts of one kind fail from time to time, independently.
struct FaultRate {
  FaultyThing of = FaultyThing::node;
  Seconds every;  ///< mean time between two faults of one of them, exponentially distributed
};

struct FaultDate {
  FaultyThing of = FaultyThing::node;
  int number = 0;  ///< index, from 0
  Seconds at;      ///< since the beginning of the job
};

struct Checkpoint {
  std::optional<Seconds> every;  ///< default: Daly's interval
  Bandwidth bandwidth;           ///< at which the job writes a checkpoint
  std::optional<Bytes> size;     ///< default: the parameters and the optimizer's state in fp32
};

struct Faults {
  Seconds work;     ///< time that the job would take without faults and checkpoints
  Seconds restart;  ///< from a fault until the failed part works again: noticed, replaced, loaded
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
                    .between(fault_limits::shortest, fault_limits::longest));
  }
};

template <>
struct Keys<FaultDate> {
  static auto table() {
    return keys(required("of", &FaultDate::of, "kind of fault"),
                optional("number", &FaultDate::number, "number of the failing part, from 0").between(0, 1e7),
                required("at", &FaultDate::at, "time since the beginning of the job")
                    .between(0, fault_limits::longest));
  }
};

template <>
struct Keys<Checkpoint> {
  static auto table() {
    return keys(
        optional("every", &Checkpoint::every,
                 "time from the end of one checkpoint to the beginning of the next; default: Daly's interval")
            .between(fault_limits::shortest, fault_limits::longest),
        required("bandwidth", &Checkpoint::bandwidth,
                 "rate at which the whole job writes a checkpoint, while training waits")
            .positive(100e12),
        optional("size", &Checkpoint::size,
                 "size of a checkpoint; default: parameters and optimizer state in 4 bytes per value")
            .positive(1e15));
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
