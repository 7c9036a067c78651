#include "imports/nccl_tests.hpp"

#include "imports/nccl_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace trainyard {
namespace {

using Words = std::vector<std::string_view>;

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (!std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

bool is_whole(std::string_view word) {
  return !word.empty() && word.size() <= 18 &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_type(std::string_view word) {
  constexpr std::array<std::string_view, 12> types{"float",  "half",     "int8",   "uint8",
                                                   "int32",  "uint32",   "int64",  "uint64",
                                                   "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return std::ranges::find(types, word) != types.end();
}

bool is_reduction(std::string_view word) {
  constexpr std::array<std::string_view, 8> reductions{"sum", "prod", "max",    "min",
                                                       "avg", "none", "mulsum", "all"};
  return std::ranges::find(reductions, word) != reductions.end();
}

/// Without the prefixes of launchers ("0: ", "[1,0]<stdout>:") and of quotes in Markdown.
std::string_view without_prefix(std::string_view line) {
  const auto skip_blanks = [&] {
    while (line.starts_with(' ') || line.starts_with('\t') || line.starts_with('>')) line.remove_prefix(1);
  };
  skip_blanks();
  if (line.starts_with('[')) {
    const std::size_t end = line.find(">:");
    if (end != std::string_view::npos && line.find("]<std") < end) line.remove_prefix(end + 2);
  } else if (const std::size_t colon = line.find(':'); colon <= 6 && is_whole(line.substr(0, colon)) &&
                                                       colon + 1 < line.size() && line[colon + 1] == ' ') {
    line.remove_prefix(colon + 1);
  }
  skip_blanks();
  return line;
}

/// Length of ":1234:5678 [" or ":1234:5678 [-" at the beginning of a text, which follows a host's name in
/// NCCL's log; 0 if it is something else.
std::size_t log_mark(std::string_view text) {
  std::size_t at = 0;
  for (int part = 0; part < 2; ++part) {
    if (at >= text.size() || text[at] != ':') return 0;
    const std::size_t begin = ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    if (at == begin) return 0;
  }
  return text.substr(at).starts_with(" [") ? at + 2 : 0;
}

/// The host whose line of NCCL's log this is; empty if it is none.
std::string_view logging_host(std::string_view line) {
  const bool begins =
      !line.empty() && ((line[0] >= 'a' && line[0] <= 'z') || (line[0] >= 'A' && line[0] <= 'Z'));
  const std::size_t colon = line.find(':');
  if (!begins || colon == std::string_view::npos || log_mark(line.substr(colon)) == 0) return {};
  const std::string_view host = line.substr(0, colon);
  constexpr std::size_t longest = 255;  // of a host's name
  return host.size() <= longest && host.find_first_of(" \t") == std::string_view::npos ? host
                                                                                       : std::string_view{};
}

/// Hosts, and the lengths of their names.
struct LoggingHosts {
  std::set<std::string, std::less<>> names;
  std::set<std::size_t, std::greater<>> lengths;
};

/// Removes text that NCCL logs after "host:1234:5678 [0] ", which its processes write into the middle of
/// lines.
std::string_view without_log(std::string_view line, const LoggingHosts& hosts) {
  if (hosts.names.empty()) return line;
  for (std::size_t colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    if (log_mark(line.substr(colon)) == 0) continue;
    for (const std::size_t length : hosts.lengths) {
      if (length <= colon && hosts.names.contains(line.substr(colon - length, length)))
        return line.substr(0, colon - length);
    }
  }
  return line;
}

struct Unfinished {
  int line = 0;
  std::string text;
};

/// The marks of an operation in the columns of a row.
struct RowWords {
  NcclTestsRow row;
  bool has_reduction = false, has_root = false;
};

std::optional<NcclTestsTime> time_in(const Words& words, std::size_t at) {
  if (at + 4 > words.size()) return std::nullopt;
  const auto time = number(words[at]);
  const auto algbw = number(words[at + 1]);
  const auto busbw = number(words[at + 2]);
  if (!time || !algbw || !busbw) return std::nullopt;
  return NcclTestsTime{.time = Seconds(*time / 1e6),
                       .algbw = Bandwidth(*algbw * 1e9),
                       .busbw = Bandwidth(*busbw * 1e9),
                       .wrong = number(words[at + 3])};
}

/// "2025-09-01 10:00:00", which the option -S puts behind a row.
bool ends_with_time(const Words& words) {
  return words.size() > 2 && words.back().size() == 8 && words.back()[2] == ':' && words.back()[5] == ':' &&
         words[words.size() - 2].size() == 10 && words[words.size() - 2][4] == '-';
}

std::optional<RowWords> row_in(std::string_view text, int line) {
  Words words = words_of(text);
  if (ends_with_time(words)) words.resize(words.size() - 2);
  std::size_t at = 0;
  while (at + 2 < words.size() && !(is_whole(words[at]) && is_whole(words[at + 1]) && is_type(words[at + 2])))
    ++at;
  if (at + 2 >= words.size()) return std::nullopt;
  RowWords result;
  result.row.line = line;
  result.row.size = Bytes(*number(words[at]));
  result.row.type = std::string(words[at + 2]);
  at += 3;
  if (at < words.size() && is_reduction(words[at])) {
    result.has_reduction = words[at] != "none";
    ++at;
  }
  // A root is a whole number before four or eight further words; a time has a decimal point, or is a whole
  // number too.
  const std::size_t left = words.size() - at;
  if ((left == 5 || left == 9) && (is_whole(words[at]) || words[at] == "-1")) {
    result.has_root = words[at] != "-1";
    ++at;
  }
  const auto out_of_place = time_in(words, at);
  if (!out_of_place) return std::nullopt;
  result.row.out_of_place = *out_of_place;
  if (at + 8 == words.size()) {
    result.row.in_place = time_in(words, at + 4);
    if (!result.row.in_place) return std::nullopt;
  } else if (at + 4 != words.size()) {
    return std::nullopt;
  }
  return result;
}

constexpr std::array<std::pair<std::string_view, Operation>, 10> programs{
    {{"all_reduce_perf", Operation::all_reduce},
     {"all_gather_perf", Operation::all_gather},
     {"reduce_scatter_perf", Operation::reduce_scatter},
     {"broadcast_perf", Operation::broadcast},
     {"reduce_perf", Operation::reduce},
     {"gather_perf", Operation::gather},
     {"scatter_perf", Operation::scatter},
     {"alltoall_perf", Operation::all_to_all},
     {"sendrecv_perf", Operation::send_recv},
     {"alltoallv_perf", Operation::all_to_all}}};

/// The device of "device  3 [0x1d]"; nothing if the words do not say it.
std::optional<int> device_in(const Words& words) {
  const auto found = std::ranges::find(words, "device");
  if (found == words.end() || std::next(found) == words.end() || !is_whole(*std::next(found)))
    return std::nullopt;
  return static_cast<int>(std::min(*number(*std::next(found)), 1e6));
}

class LogReader {
public:
  LogReader(const InputText& input, const NcclTestsAnswers& answers) : input_(input), answers_(answers) {}

  NcclTestsLog read() {
    for (const std::string_view line : lines_of(input_.text)) {
      const std::string_view host = logging_host(without_prefix(line));
      if (host.empty()) continue;
      logging_.names.emplace(host);
      logging_.lengths.insert(host.size());
    }
    int line = 0;
    for (const std::string_view whole : lines_of(input_.text)) {
      ++line;
      take(without_prefix(whole), line);
    }
    finish_table();
    if (!unfinished_.text.empty()) ++log_.cut_rows;
    if (log_.tables.empty())
      throw input_error(input_.name, 0, "no table of nccl-tests",
                        "import nccl-tests reads what all_reduce_perf and the others print");
    complete_tables(log_, input_.name, answers_);
    return std::move(log_);
  }

private:
  void take(std::string_view line, int number_of_line) {
    if (line.find("out-of-place") != std::string_view::npos) {
      begin_table(number_of_line);
      return;
    }
    note_version(line);
    note_command(line);
    if (take_rank(words_of(line), line)) return;
    if (line.starts_with('#') || line.find("busbw") != std::string_view::npos) {
      take_comment(line);
      return;
    }
    if (log_.tables.empty()) return;
    const std::string_view rest = without_log(line, logging_);
    const Words words = words_of(rest);
    const bool begins = words.size() == 5 && is_whole(words[0]) && is_whole(words[1]) && is_type(words[2]);
    if (begins) {
      if (!unfinished_.text.empty()) ++log_.cut_rows;
      unfinished_ = {number_of_line, std::string(rest)};
      return;
    }
    const bool goes_on = words.size() == 4 && number(words[0]) && number(words[1]) && number(words[2]);
    if (goes_on && !unfinished_.text.empty()) {
      unfinished_.text += " " + std::string(rest);
      if (words_of(unfinished_.text).size() != 13) return;
      if (const auto row = row_in(unfinished_.text, unfinished_.line)) add(*row);
      unfinished_ = {};
      return;
    }
    if (const auto row = row_in(rest, number_of_line)) {
      add(*row);
    } else if (words.size() > 5 && is_whole(words[0]) && is_whole(words[1]) && is_type(words[2])) {
      ++log_.cut_rows;
    }
  }

  void begin_table(int line) {
    finish_table();
    NcclTestsTable& table = log_.tables.emplace_back();
    table.line = line;
    table.operation = command_;
    table.ranks = ranks_.ranks();
    table.nodes = ranks_.nodes();
    table.is_list_whole = ranks_.is_whole();
    table.gpu = gpu_;
    table.nccl = version_;
    ranks_.clear();
    gpu_.clear();
  }

  /// Whether a line, with or without '#', is of the list of devices, which is taken: "Using devices", or
  /// "Rank 0 Pid 519864 on oneflow-27 device  0 [0x0f] NVIDIA GeForce RTX 3090", with "Group 0" in newer
  /// ones.
  bool take_rank(Words words, std::string_view line) {
    if (!words.empty() && words.front() == "#") words.erase(words.begin());
    if (!words.empty() && words.front().starts_with('#')) words.front().remove_prefix(1);
    if (words.size() == 2 && words[0] == "Using" && words[1] == "devices") {
      ranks_.clear();  // those of a run that printed no table do not count
      return true;
    }
    const auto on = std::ranges::find(words, "on");
    constexpr double most = 1e6;
    if (words.size() < 4 || words[0] != "Rank" || !is_whole(words[1]) || *number(words[1]) >= most ||
        on == words.end() || std::next(on) == words.end())
      return false;
    ranks_.add(static_cast<int>(*number(words[1])), std::string(*std::next(on)), device_in(words));
    const std::size_t bracket = line.find("] ");
    if (bracket != std::string_view::npos) gpu_ = std::string(line.substr(bracket + 2));
    while (gpu_.ends_with(' ')) gpu_.pop_back();
    return true;
  }

  void take_comment(std::string_view line) {
    if (log_.tables.empty()) return;
    NcclTestsTable& table = log_.tables.back();
    const Words words = words_of(line);
    if (std::ranges::find(words, "busbw") != words.end())
      table.has_deviations = std::ranges::find(words, "error") != words.end();
    if (line.find("Out of bounds values : 0 OK") != std::string_view::npos) table.is_in_bounds = true;
    constexpr std::string_view average = "Avg bus bandwidth";
    const std::size_t found = line.find(average);
    if (found == std::string_view::npos) return;
    const Words rest = words_of(line.substr(found + average.size()));
    if (rest.size() >= 2) {
      if (const auto value = number(rest[1])) table.average_busbw = Bandwidth(*value * 1e9);
    }
  }

  /// The operation of a program that a line names, "./build/all_reduce_perf"; unknown for one of another
  /// kind.
  void note_command(std::string_view line) {
    constexpr std::string_view ending = "_perf";
    for (std::string_view word : words_of(line)) {
      word = word.substr(word.rfind('/') + 1);
      while (!word.empty() && (word.back() == ':' || word.back() == ',' || word.back() == '`'))
        word.remove_suffix(1);
      if (!word.ends_with(ending)) continue;
      command_ = operation_of_program(word);
      return;
    }
  }

  void note_version(std::string_view line) {
    constexpr std::string_view key = "NCCL version ";
    const std::size_t found = line.find(key);
    if (found == std::string_view::npos) return;
    const std::string_view rest = line.substr(found + key.size());
    const std::string_view version = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (!version.empty()) version_ = std::string(version);
  }

  void add(const RowWords& words) {
    NcclTestsTable& table = log_.tables.back();
    table.has_reduction = table.has_reduction || words.has_reduction;
    table.has_root = table.has_root || words.has_root;
    table.rows.push_back(words.row);
  }

  void finish_table() {
    if (log_.tables.empty()) return;
    NcclTestsTable& table = log_.tables.back();
    if (table.nccl.empty()) table.nccl = version_;
  }

  const InputText& input_;
  const NcclTestsAnswers& answers_;
  NcclTestsLog log_;
  Unfinished unfinished_;
  std::optional<Operation> command_;
  std::string version_, gpu_;
  NcclRankList ranks_;
  LoggingHosts logging_;  // in NCCL's log
};

}  // namespace

std::optional<Operation> operation_of_program(std::string_view program) {
  const auto* const found =
      std::ranges::find(programs, program, &std::pair<std::string_view, Operation>::first);
  return found == programs.end() ? std::nullopt : std::optional(found->second);
}

NcclTestsLog read_nccl_tests(const InputText& input, const NcclTestsAnswers& answers) {
  if (is_nccl_tests_json(input)) return read_nccl_tests_json(input, answers);
  return LogReader(input, answers).read();
}

}  // namespace trainyard
