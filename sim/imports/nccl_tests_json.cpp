#include "config/file_format.hpp"
#include "imports/nccl_tables.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

using Json = nlohmann::json;

/// Null where the object lacks the key.
const Json& member(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

/// A number, or a text that is one: rccl-tests writes "0".
std::optional<double> number_in(const Json& value) {
  double number = 0;
  if (value.is_number()) {
    number = value.get<double>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const auto [end, problem] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

constexpr long long most_ranks = 1'000'000;

std::optional<int> count_in(const Json& value) {
  constexpr auto most = static_cast<double>(most_ranks);
  const auto number = number_in(value);
  if (!number || *number < 0 || *number > most || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

std::string text_in(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// By the names that the two programs give the same figures.
std::optional<NcclTestsTime> time_in(const Json& half, const char* algbw, const char* busbw,
                                     std::initializer_list<const char*> wrong) {
  auto time = number_in(member(half, "time"));
  if (!time) time = number_in(member(half, "cpu_time"));
  const auto algorithm = number_in(member(half, algbw));
  const auto bus = number_in(member(half, busbw));
  if (!time || !algorithm || !bus || *time < 0 || *algorithm < 0 || *bus < 0) return std::nullopt;
  NcclTestsTime result{
      .time = Seconds(*time / 1e6), .algbw = Bandwidth(*algorithm * 1e9), .busbw = Bandwidth(*bus * 1e9)};
  for (const char* const key : wrong) {
    if (!result.wrong) result.wrong = number_in(member(half, key));
  }
  return result;
}

std::optional<Bytes> size_in(const Json& record) {
  const auto size = number_in(member(record, "size"));
  constexpr double most = 1e18;
  if (!size || *size < 0 || *size > most) return std::nullopt;
  return Bytes(*size);
}

/// "2.28.7" for 22807, "2.7.8" for 2708. Source: NVIDIA/nccl src/nccl.h.in, NCCL_VERSION.
std::string version_text(int code) {
  if (code <= 0) return {};
  return code < 10'000 ? fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100)
                       : fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

[[noreturn]] void refuse_ranks(const std::string& file, int line, const std::string& what) {
  throw input_error(file, line, fmt::format("{}: more than {} GPUs", what, grouped(most_ranks)));
}

/// Rank list and operation of nccl-tests: a device for each process, which may have several.
void describe(const Json& file, const std::string& name, NcclTestsTable& table) {
  for (const Json& argument : member(file, "args")) {
    const std::string word = text_in(argument);
    if (!table.operation) table.operation = operation_of_program(word.substr(word.rfind('/') + 1));
  }
  table.nccl = version_text(count_in(member(file, "nccl_version")).value_or(0));
  const Json& config = member(file, "config");
  const Json& devices =
      member(file, "devices").is_array() ? member(file, "devices") : member(config, "devices");
  const int threads = std::max(1, count_in(member(config, "nthreads")).value_or(1));
  const int gpus = std::max(1, count_in(member(config, "ngpus")).value_or(1));
  const long long each = 1LL * threads * gpus;
  long long listed = 0;
  NcclRankList list;
  for (const Json& device : devices) {
    const auto rank = count_in(member(device, "rank"));
    if (!rank) continue;
    std::string host = text_in(member(device, "hostname"));
    if (host.empty()) host = text_in(member(device, "host"));
    const auto first = count_in(member(device, "device"));
    listed += each;
    if (listed > most_ranks || *rank + each > most_ranks)
      refuse_ranks(name, 1, fmt::format("rank {} with nthreads {} and ngpus {}", *rank, threads, gpus));
    for (int i = 0; i < each; ++i)
      list.add(*rank + i, host, first ? std::optional(*first + i) : std::nullopt);
    for (const char* const key : {"device_info", "device_name"}) {
      if (table.gpu.empty()) table.gpu = text_in(member(device, key));
    }
  }
  table.ranks = list.ranks();
  table.nodes = list.nodes();
  table.is_list_whole = list.is_whole();
}

void take_nccl(const Json& file, const std::string& name, NcclTestsLog& log) {
  NcclTestsTable& table = log.tables.emplace_back();
  table.line = 1;
  describe(file, name, table);
  const Json& bounds = member(file, "out_of_bounds");
  table.is_in_bounds = number_in(member(bounds, "count")) == 0;
  if (const auto average = number_in(member(member(file, "average_bus_bandwidth"), "bandwidth")))
    table.average_busbw = Bandwidth(*average * 1e9);
  for (const Json& record : member(file, "results")) {
    const auto half = [&](const char* place) {
      return time_in(member(record, place), "alg_bw", "bus_bw", {"nwrong"});
    };
    const auto size = size_in(record);
    auto out_of_place = half("out_of_place");
    auto in_place = half("in_place");
    if (!size || !out_of_place) {
      ++log.cut_rows;
      continue;
    }
    const std::string reduction = text_in(member(record, "redop"));
    table.has_reduction = table.has_reduction || (!reduction.empty() && reduction != "none");
    table.has_root = table.has_root || number_in(member(record, "root")).value_or(-1) >= 0;
    table.rows.push_back({.line = 1,
                          .size = *size,
                          .type = text_in(member(record, "type")),
                          .out_of_place = *out_of_place,
                          .in_place = in_place});
  }
}

/// "AllReduce" of rccl-tests; nothing for one that is none of ours.
std::optional<Operation> test_operation(std::string_view name) {
  constexpr std::pair<std::string_view, Operation> names[] = {{"AllReduce", Operation::all_reduce},
                                                              {"AllGather", Operation::all_gather},
                                                              {"ReduceScatter", Operation::reduce_scatter},
                                                              {"Broadcast", Operation::broadcast},
                                                              {"Reduce", Operation::reduce},
                                                              {"Gather", Operation::gather},
                                                              {"Scatter", Operation::scatter},
                                                              {"AlltoAll", Operation::all_to_all},
                                                              {"AlltoAllv", Operation::all_to_all},
                                                              {"SendRecv", Operation::send_recv}};
  const auto* const found = std::ranges::find(names, name, &std::pair<std::string_view, Operation>::first);
  return found == std::end(names) ? std::nullopt : std::optional(found->second);
}

/// A record of rccl-tests: one half of a row.
void take_rccl(const Json& record, const std::string& file, int line, NcclTestsLog& log) {
  const auto size = size_in(record);
  const auto time = time_in(record, "algBw", "busBw", {"wrong", "#wrong"});
  const auto operation = test_operation(text_in(member(record, "name")));
  if (!size || !time || !operation) {
    ++log.cut_rows;
    return;
  }
  int ranks = count_in(member(record, "gpus")).value_or(0);
  if (const auto processes = count_in(member(record, "ranks"))) {
    const int each = std::max(1, count_in(member(record, "gpusPerRank")).value_or(1));
    if (1LL * *processes * each > most_ranks)
      refuse_ranks(file, line, fmt::format("ranks {} with gpusPerRank {}", *processes, each));
    ranks = *processes * each;
  }
  constexpr int most_of_a_node = 8;  // older files do not say the nodes
  const auto said = count_in(member(record, "nodes"));
  const int nodes = said.value_or(ranks > 0 && ranks <= most_of_a_node ? 1 : 0);
  const std::string type = text_in(member(record, "type"));
  const auto belongs = [&](const NcclTestsTable& table) {
    return table.operation == operation && table.ranks == ranks && table.nodes == nodes &&
           table.rows.front().type == type;
  };
  auto table = std::ranges::find_if(log.tables, belongs);
  const bool is_in_place = number_in(member(record, "inPlace")).value_or(0) != 0;
  if (is_in_place && table != log.tables.end()) {
    const auto half = std::ranges::find_if(
        table->rows, [&](const NcclTestsRow& row) { return row.size == *size && !row.in_place; });
    if (half != table->rows.end()) {
      half->in_place = *time;
      return;
    }
  }
  if (is_in_place) {  // without the half that bandwidths are judged by
    ++log.cut_rows;
    return;
  }
  if (table == log.tables.end()) {
    NcclTestsTable begun;
    begun.line = line;
    begun.operation = operation;
    begun.ranks = ranks;
    begun.nodes = nodes;
    begun.is_list_whole = said.has_value();
    log.tables.push_back(std::move(begun));
    table = std::prev(log.tables.end());
  }
  table->rows.push_back({.line = line, .size = *size, .type = type, .out_of_place = *time});
}

Json parsed(const InputText& input, std::string_view text, int line) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw input_error(input.name, line, "no JSON: damaged or cut off",
                      "the program writes its end when it ends");
  return json;
}

}  // namespace

bool is_nccl_tests_json(const InputText& input) {
  return config::format_of(input.text) == config::FileFormat::nccl_tests_json;
}

NcclTestsLog read_nccl_tests_json(const InputText& input, const NcclTestsAnswers& answers) {
  NcclTestsLog log;
  const Json whole = Json::parse(input.text, nullptr, false);
  if (whole.is_array()) {
    for (const Json& record : whole) take_rccl(record, input.name, 1, log);
  } else if (whole.is_object() && whole.contains("results")) {
    take_nccl(whole, input.name, log);
  } else if (whole.is_object()) {
    take_rccl(whole, input.name, 1, log);
  } else if (input.text.find("\"results\"") != std::string::npos || input.text.starts_with('[')) {
    (void)parsed(input, input.text, 0);
  } else {
    int number = 0;
    for (const std::string_view line : lines_of(input.text)) {
      ++number;
      if (!line.starts_with('{')) continue;  // text of launchers and the library between records
      take_rccl(parsed(input, line, number), input.name, number, log);
    }
  }
  std::erase_if(log.tables, [](const NcclTestsTable& table) { return table.rows.empty(); });
  if (log.tables.empty())
    throw input_error(input.name, 0, "no result of nccl-tests has a size and bandwidths");
  complete_tables(log, input.name, answers);
  return log;
}

}  // namespace trainyard
