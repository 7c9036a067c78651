#pragma once
// A profile of one rank as read from a file: events of its host and its GPU, whatever tool recorded them.
// Times are whole nanoseconds of the profile's own clock.

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainyard {

/// Texts that repeat, each kept once.
class TextPool {
public:
  using Id = std::uint32_t;
  static constexpr Id none = std::numeric_limits<Id>::max();

  TextPool() = default;
  ~TextPool() = default;
  TextPool(const TextPool&) = delete;  // the ids of a copy would look into the texts of this one
  TextPool& operator=(const TextPool&) = delete;
  TextPool(TextPool&&) = default;
  TextPool& operator=(TextPool&&) = default;

  Id id(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<Id>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), id);
    return id;
  }
  [[nodiscard]] std::string_view operator[](Id id) const {
    return id == none ? std::string_view{} : texts_[id];
  }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

private:
  std::deque<std::string> texts_;  // which stay where they are
  std::unordered_map<std::string_view, Id> ids_;
};

enum class EventKind : std::uint8_t {
  op,      ///< of the host, as an operator of PyTorch
  range,   ///< of the host, named by the user or the framework: a step, a pass of the optimizer
  module,  ///< of the host: a part of the model that computes
  launch,  ///< a call of the driver or its runtime
  kernel,  ///< of the GPU
  copy,    ///< of the GPU
  set      ///< of the GPU: memory is filled
};

constexpr bool is_on_gpu(EventKind kind) { return kind >= EventKind::kernel; }

/// In place of an index of an event: there is none.
inline constexpr std::uint32_t no_event = std::numeric_limits<std::uint32_t>::max();

/// A collective as its caller or its kernel describes it.
struct CollectiveRecord {
  TextPool::Id name = TextPool::none;         ///< "allreduce", "_allgather_base"
  TextPool::Id group = TextPool::none;        ///< of ranks: its name
  TextPool::Id members = TextPool::none;      ///< its ranks, as a list of JSON
  TextPool::Id description = TextPool::none;  ///< purpose, from the framework
  int group_size = 0;                         ///< 0 if unknown
  std::optional<double> in_bytes = {}, out_bytes = {};
};

/// A group of ranks as the profile lists it.
struct RankGroup {
  std::string description = {};  ///< purpose, from the framework
  int size = 0;                  ///< 0 if unknown
  std::vector<int> ranks = {};   ///< ascending; empty if all ranks are in it, or they are unknown
};

/// The operands of an op.
struct Operands {
  TextPool::Id dims = TextPool::none;     ///< JSON: a list of shapes
  TextPool::Id types = TextPool::none;    ///< JSON: a list of names
  TextPool::Id values = TextPool::none;   ///< JSON: what is no tensor, as text
  TextPool::Id strides = TextPool::none;  ///< JSON: a list of lists of numbers
};

struct ProfileEvent {
  static constexpr std::uint64_t no_number = std::numeric_limits<std::uint64_t>::max();

  std::int64_t start = 0, end = 0;        ///< ns
  std::uint64_t correlation = no_number;  ///< of a launch and of the launched work
  std::uint64_t sequence = no_number;     ///< of an op and of its backward op
  std::uint64_t record = no_number;       ///< of an op: its number in an execution trace of the same run
  TextPool::Id name = TextPool::none;
  TextPool::Id lane = TextPool::none;   ///< process and thread, or device and stream
  TextPool::Id owner = TextPool::none;  ///< process of an event of the host, device of one of the GPU
  std::uint32_t operands = no_event;    ///< index in `operands` of the profile
  std::uint32_t collective = no_event;  ///< index in `collectives`
  EventKind kind{};
  bool is_backward = false;  ///< an op that names the thread of its forward op
};

/// Properties of the GPU as far as the profile says them.
struct ProfiledDevice {
  std::optional<double> compute_capability, sms, memory_bytes;
};

/// Work that a profile has of a device and a process on it, chosen or not.
struct ProfiledGpu {
  std::int64_t device = 0;
  int process = -1;  ///< -1: the profile does not say it
  int kernels = 0;   ///< with those that communicate
  int communication_kernels = 0;
  std::int64_t kernel_time = 0;  ///< ns, summed
  bool is_read = false;          ///< its work is among the events
};

struct Profile {
  std::string file;    ///< as the user named it
  std::string gpu;     ///< empty if it is not said
  std::string schema;  ///< version of the file's format; empty if it is not said
  ProfiledDevice device = {};
  std::optional<int> rank = {}, ranks = {};
  std::vector<ProfileEvent> events;  ///< by start
  std::vector<Operands> operands;
  std::vector<CollectiveRecord> collectives;
  std::map<std::string, RankGroup> groups = {};  ///< by name
  TextPool texts;
  std::uint64_t bytes = 0;  ///< of the file, inflated
  std::uint64_t seen = 0;   ///< events in the file
  bool is_cut_off = false;
  std::uint64_t repaired = 0;                           ///< events whose name was no valid text
  std::uint64_t without_time = 0, impossible_time = 0;  ///< dropped
  std::uint64_t odd = 0;              ///< dropped: a name, category or thread is of another type
  std::uint64_t other_devices = 0;    ///< dropped: work of a device that was not chosen
  std::uint64_t other_processes = 0;  ///< dropped: calls and ranges of a process that was not chosen
  std::map<std::string, std::uint64_t> unused = {};  ///< dropped events by kind, which no importer reads
  std::vector<ProfiledGpu> gpus = {};                ///< by device; empty if the reader does not tell
  std::vector<std::string> warnings;                 ///< of the reader, for the user
};

}  // namespace trainyard
