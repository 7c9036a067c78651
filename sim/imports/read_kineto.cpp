#include "imports/read_kineto.hpp"

#include "imports/event_cutter.hpp"
#include "imports/kineto_parser.hpp"
#include "imports/op_names.hpp"
#include "imports/operands.hpp"
#include "imports/profile_work.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

std::optional<EventKind> kind_of_event(std::string_view category, std::string_view name) {
  const std::optional<EventKind> kind = event_kind_of(category);
  if (kind == EventKind::module && !name.starts_with("nn.Module: ")) return std::nullopt;
  // in 2021 ranges were operators
  const bool is_range = name.starts_with("ProfilerStep") || name.starts_with("Optimizer.");
  return kind == EventKind::op && is_range ? EventKind::range : kind;
}

std::string_view unquoted(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' ? token.substr(1, token.size() - 2) : token;
}

/// Whether the key "ph" comes twice. Looks for its second letters, which are rarer than quotes.
bool has_two_phases(std::string_view event) {
  int phases = 0;
  for (std::size_t at = find_text(event, "ph\":"); at != std::string_view::npos;
       at = find_text(event, "ph\":", at + 1)) {
    if (at > 0 && event[at - 1] == '"' && ++phases == 2) return true;
  }
  return false;
}

/// Whether a token of JSON is neither a number nor a text.
bool is_odd_number(std::string_view token) {
  return token.starts_with('{') || token.starts_with('[') || token == "true" || token == "false";
}

class Reader {
public:
  Reader(const std::filesystem::path& file, const KinetoOptions& options)
      : options_(options),
        stream_(file, options.allow_truncated, !options.one_thread),
        cutter_(stream_, file.string(), KinetoParser::padding) {
    profile_.file = file.string();
  }

  Profile read() {
    while (const auto event = cutter_.next()) {
      ++profile_.seen;
      add(*event);
    }
    if (cutter_.is_cut_off() && !options_.allow_truncated) {
      throw input_error(profile_.file, 0, fmt::format("the file is cut off after byte {}", cutter_.offset()),
                        "copy it again, or import the events that are there with --allow-truncated");
    }
    profile_.is_cut_off = cutter_.is_cut_off();
    profile_.bytes = cutter_.offset();
    choose_device();
    read_rest();
    std::ranges::stable_sort(profile_.events, {}, &ProfileEvent::start);
    return std::move(profile_);
  }

private:
  void add(std::string_view event) {
    const std::string_view category = quick_category(event);
    if (!category.empty() && is_needless(category, event)) {
      // Two quotes in names that are not escaped make one event of all that is between them.
      const bool is_one = !has_two_phases(event);
      if (is_one || !cutter_.again_by_lines()) return;
      ++profile_.repaired;
      return;
    }
    if (const KinetoFields* const fields = parser_.read(event)) {
      keep(*fields);
      return;
    }
    const std::string text(shown(event, 80));  // before the cutter moves its bytes
    std::string again = padded(repaired(event));
    const KinetoFields* fields = parser_.read(without_padding(again));
    if (fields == nullptr) {
      if (const auto by_lines = cutter_.again_by_lines()) again = padded(repaired(*by_lines));
      fields = parser_.read(without_padding(again));
    }
    if (fields == nullptr) {
      throw input_error(profile_.file, 0, fmt::format("the event at byte {} is no JSON", cutter_.offset()),
                        text);
    }
    ++profile_.repaired;
    keep(*fields);
  }

  static std::string padded(std::string text) { return text.append(KinetoParser::padding, ' '); }
  static std::string_view without_padding(const std::string& text) {
    return std::string_view(text).substr(0, text.size() - KinetoParser::padding);
  }

  std::int64_t time(std::string_view token, const char* key) {
    const auto ns = nanoseconds_of_us(token);
    if (ns) return *ns;
    throw input_error(
        profile_.file, 0,
        fmt::format("'{}' of the event at byte {} is no time: {}", key, cutter_.offset(), shown(token)),
        "microseconds are expected");
  }

  void keep(const KinetoFields& fields) {
    const auto kind = kind_of_event(fields.category, fields.name);
    if (fields.is_odd || (kind && (is_odd_number(fields.start) || is_odd_number(fields.duration)))) {
      ++profile_.odd;
      return;
    }
    if (fields.phase != "X" || !kind) return;
    const auto is_missing = [](std::string_view token) { return token.empty() || token == "null"; };
    if (is_missing(fields.start) || is_missing(fields.duration)) {
      ++profile_.without_time;
      return;
    }
    constexpr std::int64_t longest = std::int64_t{7} * 86'400 * 1'000'000'000;
    ProfileEvent event{.kind = *kind};
    event.start = time(fields.start, "ts");
    const std::int64_t duration = time(fields.duration, "dur");
    if (duration < 0 || duration > longest) {
      ++profile_.impossible_time;
      return;
    }
    count(duration);
    event.end = event.start + duration;
    event.name = profile_.texts.id(std::string_view(fields.name).substr(0, longest_name));
    event.correlation = fields.correlation;
    place(fields, event);
    event.sequence = fields.sequence;
    event.record = fields.record;
    event.is_backward = fields.is_backward;
    keep_operands(fields, event);
    keep_collective(fields, event);
    profile_.events.push_back(event);
  }

  /// The owner and the lane of an event.
  void place(const KinetoFields& fields, ProfileEvent& event) {
    if (is_on_gpu(event.kind)) {
      const std::string_view device = fields.device.empty() ? fields.process : fields.device;
      const std::string_view stream = fields.stream.empty() ? fields.thread : fields.stream;
      event.owner = profile_.texts.id(unquoted(device));
      lane_.assign(device).append(" ").append(stream);
      event.lane = profile_.texts.id(lane_);
      return;
    }
    lane_.assign(fields.process).append(" ").append(unquoted(fields.thread));
    if (lane_ != last_lane_) {  // most events are of the thread of the one before
      last_lane_ = lane_;
      last_owner_id_ = profile_.texts.id(fields.process);
      last_lane_id_ = profile_.texts.id(lane_);
    }
    event.owner = last_owner_id_;
    event.lane = last_lane_id_;
  }

  /// Bounds that keep all sums of times and all indices in their types.
  void count(std::int64_t duration) {
    constexpr std::int64_t most_ns = 4'600'000'000'000'000'000;
    constexpr std::size_t most_events = std::size_t{1} << 31U;
    durations_ += duration;
    if (durations_ <= most_ns && profile_.events.size() < most_events) return;
    throw input_error(
        profile_.file, 0,
        fmt::format("up to byte {} the events last 146 years, or are more than 2^31", cutter_.offset()),
        "profile fewer steps");
  }

  void keep_operands(const KinetoFields& fields, ProfileEvent& event) {
    const bool has_operands = event.kind == EventKind::op || names_operands(fields.name);
    if (!has_operands || is_on_gpu(event.kind) || fields.dims.empty()) return;
    event.operands = static_cast<std::uint32_t>(profile_.operands.size());
    const auto kept = [&](std::string_view text) {
      return text.empty() ? TextPool::none : profile_.texts.id(text);
    };
    profile_.operands.push_back({.dims = kept(fields.dims),
                                 .types = kept(fields.types),
                                 .values = kept(fields.values),
                                 .strides = kept(fields.strides)});
  }

  void keep_collective(const KinetoFields& fields, ProfileEvent& event) {
    if (fields.collective.empty()) return;
    const auto bytes = [&](std::optional<double> values) -> std::optional<double> {
      const auto size = bytes_of_type(fields.dtype);
      if (!values || !size) return std::nullopt;
      return *values * *size;
    };
    const auto kept = [&](const std::string& text) {
      return text.empty() ? TextPool::none : profile_.texts.id(text);
    };
    event.collective = static_cast<std::uint32_t>(profile_.collectives.size());
    profile_.collectives.push_back(
        {.name = profile_.texts.id(fields.collective),
         .group = kept(fields.group),
         .members = kept(fields.members),
         .description = kept(fields.description),
         .group_size = static_cast<int>(std::clamp(fields.group_size.value_or(0), 0.0, 1e9)),
         .in_bytes = bytes(fields.in_values),
         .out_bytes = bytes(fields.out_values)});
  }

  /// The kernels of each device that has a number.
  void count_kernels() {
    std::map<int, ProfiledGpu> gpus;
    for (const ProfileEvent& one : profile_.events) {
      if (one.kind != EventKind::kernel) continue;
      const std::string_view owner = profile_.texts[one.owner];
      int device = 0;
      const auto [end, problem] = std::from_chars(owner.data(), owner.data() + owner.size(), device);
      if (problem != std::errc() || end != owner.data() + owner.size()) continue;
      ProfiledGpu& gpu = gpus[device];
      gpu.device = device;
      ++gpu.kernels;
      gpu.kernel_time += one.end - one.start;
      gpu.communication_kernels += names_communication(profile_.texts[one.name]) ? 1 : 0;
    }
    for (const auto& [device, gpu] : gpus) profile_.gpus.push_back(gpu);
  }

  /// Keeps the work of one device: that of another one would count as if it ran on the same.
  void choose_device() {
    std::set<std::string_view> devices;  // that compute
    bool has_gpu = false;
    for (const ProfileEvent& one : profile_.events) {
      has_gpu = has_gpu || is_on_gpu(one.kind);
      if (one.kind == EventKind::kernel) devices.insert(profile_.texts[one.owner]);
    }
    count_kernels();
    if (!has_gpu)
      throw input_error(profile_.file, 0, "the profile has no event of a GPU",
                        "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
    const std::string chosen = options_.device ? fmt::format("{}", *options_.device) : std::string();
    if (options_.device ? devices.contains(chosen) : devices.size() <= 1) {
      const auto is_elsewhere = [&](const ProfileEvent& one) {
        return is_on_gpu(one.kind) && profile_.texts[one.owner] != chosen;
      };
      if (options_.device) profile_.other_devices = std::erase_if(profile_.events, is_elsewhere);
      if (!devices.empty()) device_ = options_.device ? chosen : std::string(*devices.begin());
      for (ProfiledGpu& one : profile_.gpus) one.is_read = fmt::format("{}", one.device) == device_;
      return;
    }
    std::string list;
    for (const std::string_view one : devices) list += (list.empty() ? "" : ", ") + shown(one, 12);
    if (options_.device)
      throw input_error(profile_.file, 0, fmt::format("no kernel ran on device {}", chosen),
                        "kernels ran on " + list);
    throw input_error(profile_.file, 0,
                      fmt::format("the profile has kernels of {} devices: {}", devices.size(), list),
                      "choose one with --device N");
  }

  /// The facts outside of events: the ranks and the GPU.
  void read_rest() {
    std::string text = cutter_.rest();
    if (cutter_.is_cut_off()) text += "]}";
    KinetoFacts facts = parser_.facts(std::move(text));
    profile_.rank = facts.rank;
    profile_.ranks = facts.ranks;
    profile_.groups = std::move(facts.groups);
    if (facts.devices.empty()) return;
    const auto of_kernels = std::ranges::find_if(facts.devices, [&](const KinetoDevice& one) {
      return one.id && fmt::format("{:.0f}", *one.id) == device_;
    });
    const KinetoDevice& device = of_kernels == facts.devices.end() ? facts.devices.front() : *of_kernels;
    profile_.gpu = device.name;
    if (device.major) profile_.device.compute_capability = *device.major + device.minor.value_or(0) / 10;
    profile_.device.sms = device.sms;
    profile_.device.memory_bytes = device.memory_bytes;
  }

  static constexpr std::size_t longest_name = std::size_t{64} << 10U;

  KinetoOptions options_;
  ByteStream stream_;
  EventCutter cutter_;
  KinetoParser parser_;
  std::string lane_, last_lane_, device_;  // the last lane is of the host
  TextPool::Id last_owner_id_ = TextPool::none, last_lane_id_ = TextPool::none;
  std::int64_t durations_ = 0;
  Profile profile_;
};

}  // namespace

Profile read_kineto(const std::filesystem::path& file, const KinetoOptions& options) {
  return Reader(file, options).read();
}

}  // namespace trainyard
