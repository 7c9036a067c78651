#include "imports/read_kineto.hpp"

#include "config/utf8.hpp"
#include "imports/event_cutter.hpp"
#include "imports/nanoseconds.hpp"
#include "imports/type_sizes.hpp"
#include "interchange/input_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <simdjson.h>
#include <utility>

namespace trainyard {
namespace {

namespace ondemand = simdjson::ondemand;

std::optional<EventKind> kind_of(std::string_view category, std::string_view name) {
  // since 2022; before, with a capital letter
  if (category == "kernel" || category == "Kernel") return EventKind::kernel;
  if (category == "cpu_op" || category == "Operator") {
    // in 2021 ranges were operators
    return name.starts_with("ProfilerStep") || name.starts_with("Optimizer.") ? EventKind::range
                                                                              : EventKind::op;
  }
  if (category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime" ||
      category == "hip_runtime")
    return EventKind::launch;
  if (category == "user_annotation") return EventKind::range;
  if (category == "gpu_memcpy" || category == "Memcpy") return EventKind::copy;
  if (category == "gpu_memset" || category == "Memset") return EventKind::set;
  if (category == "python_function" && name.starts_with("nn.Module: ")) return EventKind::module;
  return std::nullopt;
}

/// The value of `"cat"` where it stands before `"args"`, as in all files of PyTorch; empty if it does not.
std::string_view quick_category(std::string_view event) {
  constexpr std::string_view key = "\"cat\":";
  const std::size_t found = event.find(key);
  if (found == std::string_view::npos) return {};
  const std::size_t args = event.substr(0, found).find("\"args\"");
  if (args != std::string_view::npos) return {};
  std::size_t begin = found + key.size();
  while (begin < event.size() && event[begin] == ' ') ++begin;
  if (begin >= event.size() || event[begin] != '"') return {};
  const std::size_t end = event.find('"', begin + 1);
  return end == std::string_view::npos ? std::string_view{} : event.substr(begin + 1, end - begin - 1);
}

bool is_needless(std::string_view category, std::string_view event) {
  constexpr std::array<std::string_view, 8> needless{
      "ac2g",     "fwdbwd", "async", "cpu_instant_event", "Trace", "overhead", "gpu_user_annotation",
      "cuda_sync"};
  if (std::ranges::find(needless, category) != needless.end()) return true;
  return category == "python_function" && event.find("nn.Module: ") == std::string_view::npos;
}

std::uint64_t number_in(std::string_view token) {
  if (token.starts_with('"')) token.remove_prefix(1);
  std::uint64_t number = ProfileEvent::no_number;
  const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), number);
  return problem == std::errc() ? number : ProfileEvent::no_number;
}

std::string_view trimmed_token(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

/// Control characters in strings become blanks, bytes that are no UTF-8 question marks, and quotes and
/// backslashes in the name, which ends before the process, are escaped.
std::string repaired(std::string_view event) {
  std::string text;
  constexpr std::string_view key = "\"name\": \"";
  constexpr std::string_view behind = "\", \"pid\":";
  const std::size_t name = event.find(key);
  const std::size_t end = name == std::string_view::npos ? name : event.find(behind, name);
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t i = 0; i < event.size(); ++i) {
    const char c = event[i];
    const bool is_in_name = end != std::string_view::npos && i >= name + key.size() && i < end;
    if (is_in_name && (c == '"' || c == '\\')) {
      const std::string_view next = event.substr(i + 1, 5);
      const bool is_escape =
          c == '\\' && i + 1 < end &&
          (std::string_view("\"\\/bfnrt").find(next.front()) != std::string_view::npos ||
           (next.size() == 5 && next.front() == 'u' && std::ranges::all_of(next.substr(1), is_hex)));
      if (is_escape) {
        text += c;
        text += event[++i];
        continue;
      }
      text += '\\';
    }
    text += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    if (is_in_name && c == '\n') text.back() = ' ';
  }
  for (std::size_t valid = 0;;) {
    const auto bad = config::find_invalid_utf8(std::string_view(text).substr(valid));
    if (!bad) return text;
    valid += *bad;
    text[valid++] = '?';
  }
}

class Reader {
public:
  Reader(const std::filesystem::path& file, const KinetoOptions& options)
      : options_(options),
        stream_(file, options.allow_truncated),
        cutter_(stream_, file.string(), simdjson::SIMDJSON_PADDING) {
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
    read_rest();
    check();
    std::ranges::stable_sort(profile_.events, {}, &ProfileEvent::start);
    return std::move(profile_);
  }

private:
  struct Fields {
    std::string_view phase, category, name, process, thread, start, duration;
    std::string name_text;
    bool has_name = false;
    std::uint64_t correlation = ProfileEvent::no_number, sequence = ProfileEvent::no_number;
    bool is_backward = false;
    std::string_view stream, device, dims, types, values;
    std::string collective, group, dtype;
    std::optional<double> in_values, out_values, group_size;
  };

  void add(std::string_view event) {
    const std::string_view category = quick_category(event);
    if (!category.empty() && is_needless(category, event)) {
      // Two quotes in names that are not escaped make one event of all that is between them.
      const bool is_one = event.find("\"ph\":", event.find("\"ph\":") + 1) == std::string_view::npos;
      if (is_one || !cutter_.again_by_lines()) return;
      ++profile_.repaired;
      return;
    }
    if (read_fields(event)) {
      keep();
      return;
    }
    const std::string text(shown(event, 80));  // before the cutter moves its bytes
    std::string again = repaired(event);
    if (const auto by_lines = is_valid(again) ? std::nullopt : cutter_.again_by_lines())
      again = repaired(*by_lines);
    again.append(simdjson::SIMDJSON_PADDING, ' ');
    if (!read_fields(std::string_view(again).substr(0, again.size() - simdjson::SIMDJSON_PADDING))) {
      throw input_error(profile_.file, 0, fmt::format("the event at byte {} is no JSON", cutter_.offset()),
                        text);
    }
    ++profile_.repaired;
    keep();
  }

  bool is_valid(const std::string& event) {
    std::string padded = event;
    padded.append(simdjson::SIMDJSON_PADDING, ' ');
    return read_fields(std::string_view(padded).substr(0, event.size()));
  }

  /// False if the text is no JSON. `event` has padding behind it.
  bool read_fields(std::string_view event) {
    fields_ = Fields{};
    try {
      ondemand::document document = parser_.iterate(simdjson::padded_string_view(
          event.data(), event.size(), event.size() + simdjson::SIMDJSON_PADDING));
      for (auto field : document.get_object()) {
        const std::string_view key = std::string_view(field.unescaped_key());
        if (key == "ph") {
          fields_.phase = field.value().get_string();
        } else if (key == "cat") {
          fields_.category = field.value().get_string();
        } else if (key == "name") {
          const std::string_view text = field.value().get_string();
          fields_.name_text.assign(text);
        } else if (key == "pid") {
          fields_.process = trimmed_token(field.value().raw_json_token());
        } else if (key == "tid") {
          fields_.thread = trimmed_token(field.value().raw_json_token());
        } else if (key == "ts") {
          fields_.start = trimmed_token(field.value().raw_json_token());
        } else if (key == "dur") {
          fields_.duration = trimmed_token(field.value().raw_json_token());
        } else if (key == "args") {
          ondemand::value value = field.value();
          if (value.type() == ondemand::json_type::object) read_arguments(value.get_object());
        }
      }
      return true;
    } catch (const simdjson::simdjson_error&) {
      return false;
    }
  }

  void read_arguments(ondemand::object arguments) {
    for (auto field : arguments) {
      const std::string_view key = std::string_view(field.unescaped_key());
      const auto token = [&] { return trimmed_token(field.value().raw_json_token()); };
      const auto raw = [&]() -> std::string_view {
        ondemand::value value = field.value();
        if (value.type() != ondemand::json_type::array) return {};
        ondemand::array array = value.get_array();
        return array.raw_json();
      };
      const auto number = [&]() -> std::optional<double> {
        ondemand::value value = field.value();
        if (value.type() != ondemand::json_type::number) return std::nullopt;
        const double its = value.get_double();
        constexpr double most = 9007199254740992;  // 2^53: whole numbers up to there are exact
        return its >= 0 && its <= most ? std::optional(its) : std::nullopt;
      };
      const auto text = [&]() -> std::string {
        ondemand::value value = field.value();
        if (value.type() != ondemand::json_type::string) return {};
        return std::string(std::string_view(value.get_string()));
      };
      if (key == "correlation") {
        fields_.correlation = number_in(token());
      } else if (key == "stream") {
        fields_.stream = token();
      } else if (key == "device") {
        fields_.device = token();
      } else if (key == "Sequence number" || key == "Sequence Number") {
        fields_.sequence = number_in(token());
      } else if (key == "Fwd thread id") {
        const std::uint64_t thread = number_in(token());
        fields_.is_backward = thread > 0 && thread != ProfileEvent::no_number;
      } else if (key == "Input Dims" || key == "Input dims") {
        fields_.dims = raw();
      } else if (key == "Input type") {
        fields_.types = raw();
      } else if (key == "Concrete Inputs") {
        fields_.values = raw();
      } else if (key == "Collective name") {
        fields_.collective = text();
      } else if (key == "In msg nelems") {
        fields_.in_values = number();
      } else if (key == "Out msg nelems") {
        fields_.out_values = number();
      } else if (key == "dtype") {
        fields_.dtype = text();
      } else if (key == "Group size") {
        fields_.group_size = number();
      } else if (key == "Process Group Name") {
        fields_.group = text();
      }
    }
  }

  std::int64_t time(std::string_view token, const char* key) {
    const auto ns = nanoseconds_of_us(token);
    if (ns) return *ns;
    throw input_error(
        profile_.file, 0,
        fmt::format("'{}' of the event at byte {} is no time: {}", key, cutter_.offset(), shown(token)),
        "microseconds are expected");
  }

  void keep() {
    if (fields_.phase != "X") return;
    const auto kind = kind_of(fields_.category, fields_.name_text);
    if (!kind) return;
    if (fields_.start.empty() || fields_.duration.empty()) {
      ++profile_.without_time;
      return;
    }
    constexpr std::int64_t longest = std::int64_t{7} * 86'400 * 1'000'000'000;
    ProfileEvent event{.kind = *kind};
    event.start = time(fields_.start, "ts");
    const std::int64_t duration = time(fields_.duration, "dur");
    if (duration < 0 || duration > longest) {
      ++profile_.impossible_time;
      return;
    }
    event.end = event.start + duration;
    event.name = profile_.texts.id(std::string_view(fields_.name_text).substr(0, longest_name));
    event.correlation = fields_.correlation;
    if (is_on_gpu(*kind)) {
      const std::string_view device = fields_.device.empty() ? fields_.process : fields_.device;
      const std::string_view stream = fields_.stream.empty() ? fields_.thread : fields_.stream;
      lane_.assign(device).append(" ").append(stream);
    } else {
      lane_.assign(fields_.process).append(" ").append(unquoted(fields_.thread));
    }
    event.lane = profile_.texts.id(lane_);
    event.sequence = fields_.sequence;
    event.is_backward = fields_.is_backward;
    keep_operands(event);
    keep_collective(event);
    profile_.events.push_back(event);
  }

  static std::string_view unquoted(std::string_view token) {
    return token.size() >= 2 && token.front() == '"' ? token.substr(1, token.size() - 2) : token;
  }

  void keep_operands(ProfileEvent& event) {
    if (event.kind != EventKind::op || fields_.dims.empty()) return;
    event.operands = static_cast<std::uint32_t>(profile_.operands.size());
    const auto kept = [&](std::string_view text) {
      return text.empty() ? TextPool::none : profile_.texts.id(text);
    };
    profile_.operands.push_back(
        {.dims = kept(fields_.dims), .types = kept(fields_.types), .values = kept(fields_.values)});
  }

  void keep_collective(ProfileEvent& event) {
    if (fields_.collective.empty()) return;
    const auto bytes = [&](std::optional<double> values) -> std::optional<double> {
      const auto size = bytes_of_type(fields_.dtype);
      if (!values || !size) return std::nullopt;
      return *values * *size;
    };
    event.collective = static_cast<std::uint32_t>(profile_.collectives.size());
    profile_.collectives.push_back(
        {.name = profile_.texts.id(fields_.collective),
         .group = fields_.group.empty() ? TextPool::none : profile_.texts.id(fields_.group),
         .group_size = static_cast<int>(std::clamp(fields_.group_size.value_or(0), 0.0, 1e9)),
         .in_bytes = bytes(fields_.in_values),
         .out_bytes = bytes(fields_.out_values)});
  }

  /// What stands beside the events: the ranks and the GPU.
  void read_rest() {
    std::string text = cutter_.rest();
    if (cutter_.is_cut_off()) text += "]}";
    if (text.starts_with('[')) return;
    const std::size_t size = text.size();
    text.append(simdjson::SIMDJSON_PADDING, ' ');
    try {
      ondemand::document document =
          parser_.iterate(simdjson::padded_string_view(text.data(), size, text.size()));
      for (auto field : document.get_object()) {
        const std::string_view key = std::string_view(field.unescaped_key());
        ondemand::value value = field.value();
        if (key == "distributedInfo" && value.type() == ondemand::json_type::object) {
          read_ranks(value.get_object());
        } else if (key == "deviceProperties" && value.type() == ondemand::json_type::array) {
          read_devices(value.get_array());
        }
      }
    } catch (const simdjson::simdjson_error&) {
      return;  // the events are whole: ranks and GPU stay unknown
    }
  }

  void read_ranks(ondemand::object info) {
    for (auto field : info) {
      const std::string_view key = std::string_view(field.unescaped_key());
      ondemand::value value = field.value();
      if ((key != "rank" && key != "world_size") || value.type() != ondemand::json_type::number) continue;
      const double number = value.get_double();
      const bool is_count = number >= 0 && number <= 1e9;
      if (!is_count) continue;
      (key == "rank" ? profile_.rank : profile_.ranks) = static_cast<int>(number);
    }
  }

  void read_devices(ondemand::array devices) {
    for (auto device : devices) {
      ondemand::object its = device.get_object();
      std::string_view name;
      if (its["name"].get_string().get(name) == simdjson::SUCCESS) profile_.gpu = std::string(name);
      return;
    }
  }

  void check() const {
    if (std::ranges::any_of(profile_.events, [](const ProfileEvent& one) { return is_on_gpu(one.kind); }))
      return;
    throw input_error(profile_.file, 0, "the profile has no event of a GPU",
                      "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }

  static constexpr std::size_t longest_name = std::size_t{64} << 10U;

  KinetoOptions options_;
  ByteStream stream_;
  EventCutter cutter_;
  ondemand::parser parser_;
  Fields fields_;
  std::string lane_;
  Profile profile_;
};

}  // namespace

Profile read_kineto(const std::filesystem::path& file, const KinetoOptions& options) {
  return Reader(file, options).read();
}

}  // namespace trainyard
