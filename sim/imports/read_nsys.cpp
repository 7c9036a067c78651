#include "imports/read_nsys.hpp"

#include "config/utf8.hpp"
#include "imports/nvtx_ranges.hpp"
#include "imports/op_names.hpp"
#include "imports/profile_work.hpp"
#include "imports/sqlite_rows.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t longest_nsys_name = std::size_t{64} << 10U;

// https://docs.nvidia.com/nsight-systems/UserGuide, "Exporter": ids are numbers of the machine, the process
// (24 bits) and the thread (24 bits).
constexpr unsigned id_bits = 24;
constexpr std::int64_t id_mask = (std::int64_t{1} << id_bits) - 1;

int process_of(std::int64_t global) { return static_cast<int>((global >> id_bits) & id_mask); }
int thread_of(std::int64_t global) { return static_cast<int>(global & id_mask); }

/// A copy as Kineto names it; by it copies from and to the host are told apart. The numbers are CUPTI's
/// (CUpti_ActivityMemcpyKind) and the two of unified memory that Nsight Systems adds.
std::string_view copy_name(std::int64_t kind) {
  switch (kind) {
    case 1:
    case 3:  // to an array of the GPU
    case 11:
      return "Memcpy HtoD";
    case 2:
    case 4:  // from an array
    case 12:
      return "Memcpy DtoH";
    case 5:  // between arrays, and between arrays and other memory of the GPU
    case 6:
    case 7:
    case 8:
    case 13:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

/// NVTX events that are no ranges, by ENUM_NSYS_EVENT_TYPE.
const char* nvtx_kind(std::int64_t type) {
  switch (type) {
    case 34:
      return "NVTX marks";
    case 33:  // of a category
    case 39:  // of a thread
    case 75:  // of a domain, and its end
    case 76:
      return "NVTX names of threads, categories and domains";
    default:
      return "NVTX events of other types";
  }
}

/// A text of the export that events share by its number.
struct NsysText {
  std::string text;
  TextPool::Id kept = TextPool::none;  ///< once an event has it as its name
  bool is_repaired = false;
};

class NsysReader {
public:
  NsysReader(const std::string& file, const NsysOptions& options) : options_(options), database_(file) {
    profile_.file = file;
    profile_.ranks = options.ranks;
    profile_.bytes = database_.bytes();
  }

  Profile read() {
    read_schema();
    read_strings();
    read_kernels();
    read_work("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", EventKind::copy);
    read_work("CUPTI_ACTIVITY_KIND_MEMSET", "bytes", EventKind::set);
    choose();
    read_launches();
    read_ranges();
    read_device();
    std::ranges::stable_sort(profile_.events, {}, &ProfileEvent::start);
    return std::move(profile_);
  }

private:
  /// The version of the export's tables: "3.25.0". Its table has had two names.
  void read_schema() {
    for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
      if (!database_.has_table(table)) continue;
      SqliteRows rows(database_, table, {"name", "value"});
      while (rows.next()) {
        if (rows.text_or_null(0) != std::string_view("EXPORT_SCHEMA_VERSION")) continue;
        constexpr std::size_t longest = 32;
        std::string version(rows.text_or_null(1).value_or("").substr(0, longest));
        for (char& c : version) c = c >= ' ' && c <= '~' ? c : '?';
        profile_.schema = version;
        if (version.starts_with("2.") || version.starts_with("3.")) return;
        profile_.warnings.push_back(fmt::format(
            "the export has schema {}, not 2 or 3: columns may mean something else", shown(version)));
        return;
      }
    }
  }

  void read_strings() {
    if (!database_.has_table("StringIds")) return;
    SqliteRows rows(database_, "StringIds", {"id", "value"});
    while (rows.next())
      strings_.emplace(rows.integer(0), NsysText{.text = std::string(rows.text_or_null(1).value_or(""))});
  }

  /// A text without control characters and with valid UTF-8.
  TextPool::Id kept(std::string_view text) {
    text = text.substr(0, longest_nsys_name);
    const bool is_valid = !config::find_invalid_utf8(text) && std::ranges::none_of(text, [](char c) {
      return static_cast<unsigned char>(c) < 0x20;
    });
    if (is_valid) return profile_.texts.id(text);
    ++profile_.repaired;
    std::string repaired(text);
    for (char& c : repaired) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    config::replace_invalid_utf8(repaired);
    return profile_.texts.id(repaired);
  }

  /// As above for a shared text, which is mended once and counted with each event.
  TextPool::Id kept_string(std::optional<std::int64_t> id) {
    const auto found = id ? strings_.find(*id) : strings_.end();
    if (found == strings_.end()) return kept({});
    NsysText& shared = found->second;
    if (shared.kept == TextPool::none) {
      const std::uint64_t before = profile_.repaired;
      shared.kept = kept(shared.text);
      shared.is_repaired = profile_.repaired > before;
    } else if (shared.is_repaired) {
      ++profile_.repaired;
    }
    return shared.kept;
  }

  [[nodiscard]] std::string_view string(std::optional<std::int64_t> id) const {
    if (!id) return {};
    const auto found = strings_.find(*id);
    return found == strings_.end() ? std::string_view{} : std::string_view(found->second.text);
  }

  /// Whether an event has a time that can be; counted if not.
  bool set_times(ProfileEvent& event, std::int64_t start, std::optional<std::int64_t> end) {
    ++profile_.seen;
    constexpr std::int64_t latest = 4'600'000'000'000'000'000;
    constexpr std::int64_t longest = std::int64_t{7} * 86'400 * 1'000'000'000;
    if (!end) {
      ++profile_.without_time;
      return false;
    }
    const bool is_possible =
        start >= -latest && start <= latest && *end >= start && *end <= latest && *end - start <= longest;
    if (!is_possible) {
      ++profile_.impossible_time;
      return false;
    }
    event.start = start;
    event.end = *end;
    durations_ += *end - start;
    constexpr std::size_t most_events = std::size_t{1} << 31U;
    if (durations_ <= latest && profile_.events.size() < most_events) return true;
    throw input_error(profile_.file, 0, "the events last 146 years, or are more than 2^31",
                      "profile fewer steps");
  }

  static void set_correlation(ProfileEvent& event, std::optional<std::int64_t> number) {
    if (number) event.correlation = static_cast<std::uint64_t>(*number);
  }

  void add_work(ProfileEvent event, std::int64_t device, std::int64_t stream,
                std::optional<std::int64_t> global_process) {
    event.owner = profile_.texts.id(fmt::format("{}", device));
    event.lane = profile_.texts.id(fmt::format("{} {}", device, stream));
    const int process = global_process ? process_of(*global_process) : -1;
    if (event.kind == EventKind::kernel) {
      ProfiledGpu& gpu = computing_[{device, process}];
      ++gpu.kernels;
      gpu.kernel_time += event.end - event.start;
      gpu.communication_kernels += names_communication(profile_.texts[event.name]) ? 1 : 0;
    }
    places_.push_back({device, process});
    profile_.events.push_back(event);
  }

  void read_kernels() {
    constexpr std::string_view kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
    if (database_.has_table(kernels)) {
      SqliteRows rows(database_, kernels, {"start", "end", "deviceId", "streamId"},
                      {"correlationId", "globalPid", "demangledName", "shortName"});
      while (rows.next()) {
        ProfileEvent event{.kind = EventKind::kernel};
        if (!set_times(event, rows.integer(0), rows.integer_or_null(1))) continue;
        set_correlation(event, rows.integer_or_null(4));
        auto name = rows.integer_or_null(6);
        if (string(name).empty()) name = rows.integer_or_null(7);
        event.name = string(name).empty() ? profile_.texts.id("unnamed kernel") : kept_string(name);
        add_work(event, rows.integer(2), rows.integer(3), rows.integer_or_null(5));
      }
    }
    read_whole_graphs();
    if (computing_.empty())
      throw input_error(profile_.file, 0, "the export has no kernels",
                        "record with nsys profile --trace=cuda,nvtx");
  }

  /// Graphs that were traced as a whole (--cuda-graph-trace=graph), with one time for all of their kernels.
  void read_whole_graphs() {
    constexpr std::string_view graphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    if (!database_.has_table(graphs)) return;
    SqliteRows rows(database_, graphs, {"start", "end", "deviceId", "streamId"},
                    {"correlationId", "globalPid"});
    while (rows.next()) {
      ProfileEvent event{.kind = EventKind::kernel};
      if (!set_times(event, rows.integer(0), rows.integer_or_null(1))) continue;
      set_correlation(event, rows.integer_or_null(4));
      event.name = profile_.texts.id("CUDA graph");
      add_work(event, rows.integer(2), rows.integer(3), rows.integer_or_null(5));
    }
  }

  /// Copies and fills.
  void read_work(std::string_view table, std::string_view property, EventKind kind) {
    if (!database_.has_table(table)) return;
    SqliteRows rows(database_, table, {"start", "end", "deviceId", "streamId", property},
                    {"correlationId", "globalPid"});
    while (rows.next()) {
      ProfileEvent event{.kind = kind};
      if (!set_times(event, rows.integer(0), rows.integer_or_null(1))) continue;
      set_correlation(event, rows.integer_or_null(5));
      event.name = profile_.texts.id(kind == EventKind::copy ? copy_name(rows.integer(4)) : "Memset");
      add_work(event, rows.integer(2), rows.integer(3), rows.integer_or_null(6));
    }
  }

  /// Leaves the work of one process on one device: numbers of launches are a process's own, and work
  /// elsewhere would count as if it ran on the same GPU.
  void choose() {
    std::set<std::pair<std::int64_t, int>> left;
    for (const auto& [one, work] : computing_) {
      profile_.gpus.push_back(work);
      profile_.gpus.back().device = one.first;
      profile_.gpus.back().process = one.second;
      const bool is_chosen = (!options_.device || one.first == *options_.device) &&
                             (!options_.process || one.second == *options_.process);
      if (is_chosen) left.insert(one);
    }
    std::string list;
    int count = 0;
    std::set<std::pair<std::int64_t, int>> all;
    for (const auto& [place, work] : computing_) all.insert(place);
    for (const auto& [device, process] : left.empty() ? all : left) {
      constexpr int most = 16;
      if (++count > most) continue;
      list += fmt::format("{}device {}{}", list.empty() ? "" : ", ", device,
                          process < 0 ? std::string() : fmt::format(" (process {})", process));
    }
    if (left.empty()) throw input_error(profile_.file, 0, "no kernel ran there", "kernels ran on " + list);
    if (left.size() > 1) {
      const bool is_one_device = left.begin()->first == left.rbegin()->first;
      throw input_error(profile_.file, 0,
                        fmt::format("the profile has kernels of {} GPUs or processes: {}", left.size(), list),
                        is_one_device ? "choose a process with --process N" : "choose a GPU with --device N");
    }
    std::tie(device_, process_) = *left.begin();
    for (ProfiledGpu& one : profile_.gpus) one.is_read = one.device == device_ && one.process == process_;
    std::size_t at = 0;
    profile_.other_devices = std::erase_if(profile_.events, [&](const ProfileEvent&) {
      const auto& [device, process] = places_[at++];
      return device != device_ || (process >= 0 && process_ >= 0 && process != process_);
    });
  }

  [[nodiscard]] bool is_of_process(std::optional<std::int64_t> global_thread) const {
    return !global_thread || process_ < 0 || process_of(*global_thread) == process_;
  }

  void set_lane(ProfileEvent& event, std::optional<std::int64_t> global_thread, std::string_view more = {}) {
    const int process = global_thread ? process_of(*global_thread) : 0;
    const int thread = global_thread ? thread_of(*global_thread) : 0;
    event.owner = profile_.texts.id(fmt::format("{}", process));
    event.lane = profile_.texts.id(fmt::format("{} {}{}", process, thread, more));
  }

  void read_launches() {
    constexpr std::string_view calls = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!database_.has_table(calls)) return;
    SqliteRows rows(database_, calls, {"start", "end"}, {"correlationId", "globalTid", "nameId"});
    while (rows.next()) {
      ProfileEvent event{.kind = EventKind::launch};
      const auto thread = rows.integer_or_null(3);
      if (!set_times(event, rows.integer(0), rows.integer_or_null(1))) continue;
      if (!is_of_process(thread)) {
        ++profile_.other_processes;
        continue;
      }
      set_correlation(event, rows.integer_or_null(2));
      event.name = kept_string(rows.integer_or_null(4));
      set_lane(event, thread);
      profile_.events.push_back(event);
    }
  }

  void read_ranges() {
    constexpr std::string_view ranges = "NVTX_EVENTS";
    if (!database_.has_table(ranges)) return;
    SqliteRows rows(database_, ranges, {"start", "end", "eventType"},
                    {"text", "textId", "globalTid", "jsonText", "jsonTextId"});
    std::vector<NcclRange> nccl;
    while (rows.next()) {
      // of ENUM_NSYS_EVENT_TYPE: ranges that a thread pushes and pops, and those that any thread ends
      const std::int64_t type = rows.integer(2);
      const bool is_nested = type == 59 || type == 70;
      const bool is_free = type == 60 || type == 71;
      const auto thread = rows.integer_or_null(5);
      if ((!is_nested && !is_free) || !is_of_process(thread)) {
        ++profile_.seen;
        if (is_nested || is_free) {
          ++profile_.other_processes;
        } else {
          ++profile_.unused[nvtx_kind(type)];
        }
        continue;
      }
      ProfileEvent event;
      if (!set_times(event, rows.integer(0), rows.integer_or_null(1))) continue;
      const std::string_view text = rows.text_or_null(3).value_or(string(rows.integer_or_null(4)));
      // A range that one thread begins and another ends does not nest with the ranges of either: it encloses
      // no launch.
      set_lane(event, thread, is_free ? " ranges" : "");
      if (is_nccl_range(text)) {
        const auto json = rows.text_or_null(6);
        nccl.push_back({.lane = event.lane,
                        .start = event.start,
                        .end = event.end,
                        .name = std::string(text.substr(0, 64)),
                        .bytes = nccl_message_size(json ? *json : string(rows.integer_or_null(7)))});
        continue;
      }
      add_range(event, text);
    }
    add_nccl_calls(std::move(nccl), profile_);
  }

  void add_range(ProfileEvent event, std::string_view text) {
    const NvtxRange range = nvtx_range(text.substr(0, longest_nsys_name));
    event.kind = range.kind;
    event.name = kept(range.name);
    if (range.sequence) event.sequence = *range.sequence;
    if (event.kind == EventKind::op) {
      event.is_backward = is_backward_range(range.name);
      if (!range.dims.empty()) {
        event.operands = static_cast<std::uint32_t>(profile_.operands.size());
        profile_.operands.push_back({.dims = profile_.texts.id(range.dims)});
      }
    }
    profile_.events.push_back(event);
  }

  void read_device() {
    constexpr std::string_view gpus = "TARGET_INFO_GPU";
    if (!database_.has_table(gpus)) return;
    SqliteRows rows(database_, gpus, {},
                    {"cuDevice", "id", "name", "smCount", "totalMemory", "computeMajor", "computeMinor"});
    while (rows.next()) {
      const auto number = rows.integer_or_null(0) ? rows.integer_or_null(0) : rows.integer_or_null(1);
      if (number != device_) continue;
      profile_.gpu = std::string(profile_.texts[kept(rows.text_or_null(2).value_or(""))]);
      const auto value = [&](int column) -> std::optional<double> {
        const auto found = rows.integer_or_null(column);
        return found && *found > 0 ? std::optional(static_cast<double>(*found)) : std::nullopt;
      };
      profile_.device.sms = value(3);
      profile_.device.memory_bytes = value(4);
      if (const auto major = value(5))
        profile_.device.compute_capability = *major + value(6).value_or(0) / 10;
      return;
    }
  }

  NsysOptions options_;
  SqliteFile database_;
  std::unordered_map<std::int64_t, NsysText> strings_;
  std::map<std::pair<std::int64_t, int>, ProfiledGpu> computing_;  // by device and process
  std::vector<std::pair<std::int64_t, int>> places_ = {};          // of each event of a GPU
  std::int64_t device_ = 0;
  int process_ = -1;  // -1: the export does not say it
  std::int64_t durations_ = 0;
  Profile profile_;
};

}  // namespace

Profile read_nsys(const std::string& file, const NsysOptions& options) {
  return NsysReader(file, options).read();
}

}  // namespace trainyard
