#include "imports/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

/// Without what NCCL logs behind "host:1234:5678 [0] ", which its processes write into the middle of lines.
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

/// What the columns of a row say of its operation.
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
  return NcclTestsTime{.time = Seconds(*time * 1e-6),
                       .algbw = Bandwidth(*algbw * 1e9),
                       .busbw = Bandwidth(*busbw * 1e9),
                       .wrong = number(words[at + 3])};
}

std::optional<RowWords> row_in(std::string_view text, int line) {
  const Words words = words_of(text);
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

constexpr std::array<std::pair<std::string_view, Operation>, 8> programs{
    {{"all_reduce_perf", Operation::all_reduce},
     {"all_gather_perf", Operation::all_gather},
     {"reduce_scatter_perf", Operation::reduce_scatter},
     {"broadcast_perf", Operation::broadcast},
     {"reduce_perf", Operation::reduce},
     {"alltoall_perf", Operation::all_to_all},
     {"sendrecv_perf", Operation::send_recv},
     {"alltoallv_perf", Operation::all_to_all}}};

/// The largest difference of a printed bandwidth from the true one, with two decimals of GB/s.
constexpr double rounding = 0.0051e9;

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
    share_operation();
    for (NcclTestsTable& table : log_.tables) leave_out_contradictions(table);
    if (log_.tables.empty())
      throw input_error(input_.name, 0, "no table of nccl-tests",
                        "import nccl-tests reads what all_reduce_perf and the others print");
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
    if (line.starts_with('#')) {
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
    table.ranks = ranks_;
    table.nodes = static_cast<int>(hosts_.size());
    table.gpu = gpu_;
    table.nccl = version_;
    has_reduction_ = has_root_ = false;
    ranks_ = 0;
    hosts_.clear();
    gpu_.clear();
  }

  /// "#   Rank  0 Pid 519864 on oneflow-27 device  0 [0x0f] NVIDIA GeForce RTX 3090", "Group 0" in newer
  /// ones.
  void take_comment(std::string_view line) {
    const Words words = words_of(line.substr(1));
    const auto word = [&](std::size_t i) { return i < words.size() ? words[i] : std::string_view{}; };
    if (word(0) == "Using" && word(1) == "devices") {  // those of a run that printed no table do not count
      ranks_ = 0;
      hosts_.clear();
    }
    if (word(0) == "Rank") {
      ++ranks_;
      const auto on = std::ranges::find(words, "on");
      if (on != words.end() && std::next(on) != words.end()) hosts_.insert(std::string(*std::next(on)));
      const std::size_t bracket = line.find("] ");
      if (bracket != std::string_view::npos) gpu_ = std::string(line.substr(bracket + 2));
      while (gpu_.ends_with(' ')) gpu_.pop_back();
    }
    constexpr std::string_view average = "Avg bus bandwidth";
    const std::size_t found = line.find(average);
    if (found == std::string_view::npos || log_.tables.empty()) return;
    const Words rest = words_of(line.substr(found + average.size()));
    if (rest.size() >= 2) {
      if (const auto value = number(rest[1])) log_.tables.back().average_busbw = Bandwidth(*value * 1e9);
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
      const auto* const found =
          std::ranges::find(programs, word, &std::pair<std::string_view, Operation>::first);
      command_ = found == programs.end() ? std::nullopt : std::optional(found->second);
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
    has_reduction_ = has_reduction_ || words.has_reduction;
    has_root_ = has_root_ || words.has_root;
    log_.tables.back().rows.push_back(words.row);
  }

  void finish_table() {
    if (log_.tables.empty()) return;
    NcclTestsTable& table = log_.tables.back();
    if (table.nccl.empty()) table.nccl = version_;
    if (table.ranks == 0) {
      table.ranks = answers_.ranks.value_or(0);
      table.nodes = answers_.nodes.value_or(table.ranks > 0 ? 1 : 0);
    }
    if (!table.operation) table.operation = answers_.operation ? answers_.operation : told_by_figures(table);
  }

  /// Small messages do not tell their operation: it is that of the log's other tables, if they have one.
  void share_operation() {
    std::set<Operation> known;
    for (const NcclTestsTable& table : log_.tables) {
      if (table.operation) known.insert(*table.operation);
    }
    if (known.size() != 1) return;
    for (NcclTestsTable& table : log_.tables) {
      if (!table.operation) table.operation = *known.begin();
    }
  }

  void leave_out_contradictions(NcclTestsTable& table) {
    if (!table.operation || table.ranks < 2) return;
    const auto before = table.rows.size();
    std::erase_if(table.rows, [&](const NcclTestsRow& row) { return contradicts(row.out_of_place, table); });
    log_.contradictory_rows += static_cast<int>(before - table.rows.size());
  }

  static double factor(Operation operation, int ranks) {
    return busbw(operation, ranks, Bytes(1), Seconds(1)).si();
  }

  [[nodiscard]] static bool contradicts(const NcclTestsTime& time, const NcclTestsTable& table) {
    const double expected = factor(*table.operation, table.ranks) * time.algbw.si();
    return std::abs(time.busbw.si() - expected) >
           rounding * (1 + factor(*table.operation, table.ranks)) + 1e-3 * expected;
  }

  /// The operation by its ratio of bus to algorithm bandwidth and its columns; empty if two have the same.
  [[nodiscard]] std::optional<Operation> told_by_figures(const NcclTestsTable& table) const {
    double algbw = 0;
    double bus = 0;
    for (const NcclTestsRow& row : table.rows) {
      if (row.out_of_place.algbw.si() <= algbw) continue;
      algbw = row.out_of_place.algbw.si();
      bus = row.out_of_place.busbw.si();
    }
    constexpr double least = 0.5e9;  // below, two decimals say too little
    if (algbw < least || table.ranks < 2) return std::nullopt;
    const auto is = [&](Operation operation) {
      const double expected = factor(operation, table.ranks);
      return std::abs(bus - expected * algbw) <= rounding * (1 + expected);
    };
    if (has_root_) {
      if (!is(Operation::broadcast)) return std::nullopt;
      return has_reduction_ ? Operation::reduce : Operation::broadcast;
    }
    if (has_reduction_ && is(Operation::all_reduce)) return Operation::all_reduce;
    if (has_reduction_ && is(Operation::reduce_scatter)) return Operation::reduce_scatter;
    return std::nullopt;
  }

  const InputText& input_;
  const NcclTestsAnswers& answers_;
  NcclTestsLog log_;
  Unfinished unfinished_;
  std::optional<Operation> command_;
  std::string version_, gpu_;
  std::set<std::string> hosts_;  // of ranks
  LoggingHosts logging_;         // in NCCL's log
  int ranks_ = 0;
  bool has_reduction_ = false, has_root_ = false;
};

}  // namespace

NcclTestsLog read_nccl_tests(const InputText& input, const NcclTestsAnswers& answers) {
  return LogReader(input, answers).read();
}

}  // namespace trainyard
