#pragma once
// The task graph of one training step: every rank's computations, their dependencies, and the collectives in
// which ranks meet. Ranks that run the same trace share one program; the engine keeps a cursor per rank and
// stream, so nothing here or there grows as ranks x layers.

#include "collectives/collective.hpp"
#include "compute/gpu_use.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

/// A GPU stream runs its tasks in order, as in CUDA; streams meet through events and collectives.
/// `communication` reduces gradients; `host` is the framework's communication thread on the CPU, `launch` the
/// one that launches the kernels. All others belong to jobs whose ranks share a model: `layers` for
/// collectives that overlap with kernels of their own layer, `parameters` for gathering sharded parameters,
/// and one for each direction in which a stage of a pipeline sends and receives, for each half of the model
/// if its chunks form a V: the order of both halves' messages differs between neighbours.
enum class Stream : int {
  compute,
  communication,
  host,
  layers,
  parameters,
  send_forward,
  receive_forward,
  send_backward,
  receive_backward,
  send_forward_back,
  receive_forward_back,
  send_backward_back,
  receive_backward_back,
  launch,
  tokens
};
inline constexpr int stream_count = 15;

/// Every program has these, even if they are empty: compute, communication and host.
inline constexpr int usual_streams = 3;

constexpr bool is_receiving(Stream stream) {
  return stream == Stream::receive_forward || stream == Stream::receive_backward ||
         stream == Stream::receive_forward_back || stream == Stream::receive_backward_back;
}

/// Whether work on the stream occupies the GPU.
constexpr bool is_on_gpu(int stream) {
  return stream != static_cast<int>(Stream::host) && stream != static_cast<int>(Stream::launch);
}

/// Occupies the stream for a time: a kernel, slowed by concurrent work on the other GPU streams, or work on
/// `host`, which is never slowed. For the reports: `op` is the index in the trace, or `collective` that of
/// the collective it prepares.
struct Compute {
  Seconds duration;  ///< alone
  int op = -1;
  int collective = -1;
  int segment = -1;       ///< the undisturbed segment of the graph that the engine replays as this task
  GpuUse use = {};        ///< its use of the GPU; if none, it is never slowed
  Seconds overhead = {};  ///< part of the duration: software overhead, during which the GPU is idle
};

/// Takes part in a collective: starts when all its participants have arrived, holds the stream until it ends.
struct Join {
  int collective = -1;
  GpuUse use =
      {};  ///< its use of this rank's GPU: blocks from the rank's arrival on, memory once all have arrived
};

/// Marks an event of this rank as happened (cudaEventRecord).
struct Record {
  int event = -1;
};

/// Holds the stream until the event has happened (cudaStreamWaitEvent).
struct Wait {
  int event = -1;
};

/// Runs a segment of the graph, as if its tasks stood here. On the compute stream only.
struct RunSegment {
  int segment = -1;
};

using Task = std::variant<Compute, Join, Record, Wait, RunSegment>;

/// One rank's work in a step.
struct Program {
  std::vector<std::vector<Task>> streams{usual_streams};  ///< as many as the rank needs
  int events = 0;  ///< events have numbers from 0 up to this, exclusive

  [[nodiscard]] int stream_number() const { return static_cast<int>(streams.size()); }
  /// The tasks of a stream that the program has, or gets now.
  [[nodiscard]] const std::vector<Task>& of(Stream stream) const {
    return streams.at(static_cast<std::size_t>(stream));
  }
  [[nodiscard]] std::vector<Task>& of(Stream stream) {
    const auto number = static_cast<std::size_t>(stream);
    if (number >= streams.size()) streams.resize(number + 1);
    return streams[number];
  }
};

/// Tasks that a step repeats, with the collectives between them: a part of a pass of a micro-batch. Its
/// compute stream waits for everything on its other streams.
struct Segment {
  Program program;
  Phase phase =
      Phase::forward;  ///< of the pass; a backward pass begins with forward ops if layers take turns
  /// Nothing else on the GPUs and links of its ranks changes how long it takes, so that it needs to be
  /// replayed only once.
  bool is_undisturbed = false;
};

/// The work that slows the kernels of a step down: kernels and collectives on other streams, kernels alone,
/// or none.
enum class SlowedBy { all, kernels, nothing };

/// The step of a graph under other assumptions.
struct StepVariant {
  /// Fixed times of the graph's collectives; empty: their closed forms.
  std::vector<Seconds> collectives = {};
  SlowedBy slowed_by = SlowedBy::all;
};

/// The use of the GPU that counts, if only some work slows kernels down.
inline GpuUse use_of(const Compute& kernel, SlowedBy slowed_by) {
  return slowed_by == SlowedBy::nothing ? GpuUse{} : kernel.use;
}
inline GpuUse use_of(const Join& join, SlowedBy slowed_by) {
  return slowed_by == SlowedBy::all ? join.use : GpuUse{};
}

/// Calls `act` with each of the program's tasks of a type.
template <class T, class Act>
void for_each_task(Program& program, Act act) {
  for (std::vector<Task>& stream : program.streams) {
    for (Task& task : stream) {
      if (T* of_type = std::get_if<T>(&task)) act(*of_type);
    }
  }
}

/// A change of a link's capacity at a date.
struct LinkEvent {
  Seconds date;
  LinkId link{};
  Bandwidth bandwidth;  ///< 0: the link has failed
  std::string name;     ///< of the link, for messages
};

struct TaskGraph {
  std::vector<Program> programs;
  std::vector<Segment> segments;
  std::vector<int> program_of_rank;  ///< ranks that meet in different collectives run different programs
  /// The job of each rank. Job 0 is the simulated one. The ranks of any other job begin their programs again,
  /// all together, when the last of them has ended, as long as job 0 runs: other training, background traffic
  /// (whose ends are ranks like any other). A collective's participants belong to one job. Empty: all ranks
  /// belong to job 0.
  std::vector<int> job_of_rank;
  std::vector<Pattern> patterns;
  std::vector<Collective> collectives;
  LinkValues<Bandwidth> links;         ///< capacity of each directed link at the start, by LinkId
  std::vector<LinkEvent> link_events;  ///< in any order

  [[nodiscard]] int ranks() const { return static_cast<int>(program_of_rank.size()); }
};

/// Visits the tasks of all programs and segments of a graph.
template <class T, class Act>
void for_each_task(TaskGraph& graph, Act act) {
  for (Program& program : graph.programs) for_each_task<T>(program, act);
  for (Segment& segment : graph.segments) for_each_task<T>(segment.program, act);
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<Stream> {
  static constexpr std::string_view what = "stream";
  static constexpr std::array table{
      Name{"compute", Stream::compute, "kernels of the model"},
      Name{"communication", Stream::communication, "reduction of gradients"},
      Name{"host", Stream::host, "the framework's communication thread"},
      Name{"layers", Stream::layers, "tensor-parallel collectives that overlap with kernels"},
      Name{"parameters", Stream::parameters, "gathering of sharded parameters"},
      Name{"send forward", Stream::send_forward, "activations to the next stage"},
      Name{"receive forward", Stream::receive_forward, "activations from the previous stage"},
      Name{"send backward", Stream::send_backward, "gradients to the previous stage"},
      Name{"receive backward", Stream::receive_backward, "gradients from the next stage"},
      Name{"send forward, back", Stream::send_forward_back,
           "activations to the stage before, on the way back of a V"},
      Name{"receive forward, back", Stream::receive_forward_back,
           "activations from the stage behind, on that way"},
      Name{"send backward, back", Stream::send_backward_back, "gradients to the stage behind, on that way"},
      Name{"receive backward, back", Stream::receive_backward_back,
           "gradients from the stage before, on that way"},
      Name{"launch", Stream::launch, "launches of kernels by the host"},
      Name{"tokens", Stream::tokens, "tokens of experts between nodes, which others forward in theirs"}};
};

}  // namespace trainyard::config
