#include "compute/recording.hpp"

#include "compute/work.hpp"
#include "config/fields.hpp"
#include "config/suggest.hpp"
#include "units/spreadsheet_text.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/shape_text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace trainyard {
namespace {

constexpr double longest_kernel_us = 1e9;

constexpr std::array<std::string_view, 12> known_columns{"op",    "variant", "dtype",     "shape",
                                                         "bytes", "time_us", "spread_us", "repetitions",
                                                         "error", "power_w", "clock_mhz", "derived"};
constexpr std::array<std::string_view, 4> needed_columns{"op", "dtype", "shape", "time_us"};

/// Measurements that are not ops of a trace.
constexpr std::array<std::string_view, 6> other_words{"reduction",  "launch",  "copy",
                                                      "all_reduce", "overlap", "power"};

/// A kind of op in a trace that a recording can hold.
std::optional<OpKind> kind_of(std::string_view op) {
  const std::optional<OpKind> kind = config::value_named<OpKind>(op);
  const bool cannot = kind == OpKind::measured || kind == OpKind::host;
  return cannot ? std::nullopt : kind;
}

/// All ops that a recording can hold.
std::vector<std::string_view> all_words() {
  const auto ops = config::texts_of<OpKind>();
  std::vector<std::string_view> words(ops.begin(), ops.end());
  std::erase_if(words, [](std::string_view op) { return !kind_of(op); });
  words.insert(words.end(), other_words.begin(), other_words.end());
  return words;
}

/// Cells of a row, by column name.
class Row {
public:
  Row(const CsvRow& header, const CsvRow& row, CsvProblems& problems)
      : header_(header), row_(row), problems_(problems) {}

  /// Empty if the column is missing or the cell is "-".
  [[nodiscard]] std::string text(std::string_view column) const {
    const CsvCell* cell = find(column);
    return cell == nullptr || cell->text == "-" ? std::string() : cell->text;
  }

  /// The number in a cell; empty if there is none or it is 0. Reports text that is not a number, and negative
  /// numbers.
  std::optional<double> number(std::string_view column, const std::string& what, double at_most) {
    const CsvCell* cell = find(column);
    if (cell == nullptr || cell->text.empty() || cell->text == "-" || cell->text == "0") {
      return std::nullopt;
    }
    const Parsed<double> value = parse_number(cell->text);
    if (value && *value > 0 && *value <= at_most) return *value;
    wrong(column, "'" + cell->text + "' is not a " + what, "a number above 0");
    return std::nullopt;
  }

  void wrong(std::string_view column, std::string message, std::string hint) {
    problems_.error(row_.line, *find(column), column, std::move(message), std::move(hint));
    is_right_ = false;
  }

  [[nodiscard]] bool is_right() const { return is_right_; }

private:
  [[nodiscard]] const CsvCell* find(std::string_view column) const {
    for (std::size_t i = 0; i < header_.cells.size(); ++i) {
      if (header_.cells[i].text == column) return &row_.cells[i];
    }
    return nullptr;
  }

  const CsvRow& header_;
  const CsvRow& row_;
  CsvProblems& problems_;
  bool is_right_ = true;
};

bool check_header(const CsvFile& file, CsvProblems& problems) {
  std::vector<std::string_view> found;
  bool is_right = true;
  const auto wrong = [&](auto... what) {
    problems.error(file.header.line, what...);
    is_right = false;
  };
  for (const CsvCell& cell : file.header.cells) {
    if (std::find(known_columns.begin(), known_columns.end(), cell.text) == known_columns.end()) {
      wrong(cell, "", "unknown column '" + cell.text + "'", config::suggest(cell.text, known_columns));
    } else if (std::find(found.begin(), found.end(), cell.text) != found.end()) {
      wrong(cell, "", "column '" + cell.text + "' is repeated");
    }
    found.push_back(cell.text);
  }
  for (const std::string_view needed : needed_columns) {
    if (std::find(found.begin(), found.end(), needed) == found.end()) {
      wrong("column '" + std::string(needed) + "' is missing",
            "a recording has at least op,dtype,shape,time_us");
    }
  }
  return is_right;
}

bool is_vector(std::optional<OpKind> kind) { return kind && !is_matrix(*kind); }

/// The required kind of shape, in words, if the row has another; empty if it is right.
std::string_view missing_shape(std::optional<OpKind> kind, const Shape& shape) {
  if (kind == OpKind::gemm || kind == OpKind::attention)
    return std::holds_alternative<GemmShape>(shape) ? "" : "matrix product";
  if (kind && is_matrix(*kind)) return std::holds_alternative<ConvShape>(shape) ? "" : "convolution";
  if (is_vector(kind)) return std::holds_alternative<VectorShape>(shape) ? "" : "vector op";
  return "";
}

std::string_view example_of(std::string_view what) {
  if (what == "matrix product") return "for example m128 n1000 k2048 nt";
  if (what == "convolution") return "for example n16 c64 h56 w56 k256 r1x1 s1 p0x0";
  return "for example e1048576";
}

std::optional<Bytes> bytes_of(OpKind kind, const Shape& shape, std::optional<Dtype> dtype) {
  if (!dtype) return std::nullopt;
  const auto* scores = std::get_if<GemmShape>(&shape);
  if (kind == OpKind::attention && scores != nullptr) {
    // queries, keys, values and the result, with as many heads of keys and values as of queries
    return 2.0 * scores->batch * (scores->m + scores->n) * scores->k * size_of(*dtype);
  }
  if (const auto* conv = std::get_if<ConvShape>(&shape)) return work_of(*conv, *dtype).bytes;
  if (const auto* gemm = std::get_if<GemmShape>(&shape)) return work_of(*gemm, *dtype).bytes;
  return std::nullopt;
}

std::optional<RecordedKernel> read_row(Row row, int line) {
  RecordedKernel kernel;
  kernel.line = line;
  kernel.op = row.text("op");
  kernel.variant = row.text("variant");
  kernel.kind = kind_of(kernel.op);
  if (!kernel.kind && std::ranges::find(other_words, kernel.op) == other_words.end()) {
    row.wrong("op", "unknown op '" + kernel.op + "'", config::suggest(kernel.op, all_words()));
    return std::nullopt;
  }
  const std::string dtype = row.text("dtype");
  kernel.dtype = config::value_named<Dtype>(dtype);
  if (!kernel.dtype && (kernel.kind || !dtype.empty())) {
    static constexpr auto names = config::texts_of<Dtype>();
    row.wrong("dtype", "unknown data type '" + dtype + "'", config::suggest(dtype, names));
  }
  const std::string shape_text = row.text("shape");
  const auto shape = parse_shape(shape_text);
  const std::string_view missing = missing_shape(kernel.kind, shape.value_or(Shape()));
  if (!shape || !missing.empty()) {
    const std::string_view what = missing.empty() ? "vector op" : missing;
    row.wrong("shape", "'" + shape_text + "' is not the shape of a " + std::string(what),
              std::string(example_of(what)));
  }
  const auto time = row.number("time_us", "time in microseconds", longest_kernel_us);
  if (!time && row.is_right()) row.wrong("time_us", "a time is missing", "a number of microseconds above 0");
  const auto bytes = row.number("bytes", "number of bytes", 1e15);
  kernel.shape = shape.value_or(Shape());
  kernel.bytes =
      bytes ? Bytes(*bytes)
            : bytes_of(kernel.kind.value_or(OpKind::measured), kernel.shape, kernel.dtype).value_or(Bytes());
  if (const auto power = row.number("power_w", "power in watts", 1e5)) kernel.power = Watts(*power);
  if (kernel.kind == OpKind::attention && kernel.variant != "causal") {
    row.wrong("op", "attention needs the variant causal",
              "forward passes over the causal half of the scores");
  }
  const std::string derived = row.text("derived");
  kernel.is_derived = derived == "yes";
  if (!derived.empty() && !kernel.is_derived) {
    row.wrong("derived", "'" + derived + "' is neither yes nor -", "yes if a fitted part was subtracted");
  }
  if (kernel.variant == variant_with_cast && (kernel.kind != OpKind::gemm || kernel.dtype != Dtype::fp8)) {
    row.wrong("variant", "only a gemm in fp8 can be with_cast",
              "it casts the input of a linear layer to 8 bits");
  }
  if (row.is_right() && is_vector(kernel.kind) && kernel.bytes <= Bytes()) {
    row.wrong("shape", "a vector op needs its bytes", "add a column 'bytes'");
  }
  if (!row.is_right()) return std::nullopt;
  kernel.time = Seconds(*time * 1e-6);
  return kernel;
}

template <class Q>
std::optional<Q> quantity(const CsvComment& comment, CsvProblems& problems) {
  const Parsed<Q> value = parse_quantity<Q>(comment.value.text);
  if (value && *value > Q()) return *value;
  problems.error(comment.line, comment.value, comment.key,
                 value ? in_quotes(comment.value.text) + " is not above 0" : value.error().message,
                 value ? "" : value.error().hint);
  return std::nullopt;
}

std::optional<double> plain_number(const CsvComment& comment, std::string_view unit, CsvProblems& problems) {
  std::string_view text = comment.value.text;
  if (!unit.empty() && text.ends_with(unit)) text.remove_suffix(unit.size());
  const Parsed<double> value = parse_number(text);
  if (value && *value > 0) return *value;
  problems.error(comment.line, comment.value, comment.key,
                 in_quotes(comment.value.text) + " is not a number above 0",
                 unit.empty() ? "" : "for example 1530" + std::string(unit));
  return std::nullopt;
}

RecordingFacts read_facts(const std::vector<CsvComment>& comments, CsvProblems& problems) {
  RecordingFacts facts;
  const std::map<std::string_view, std::string*> texts{{"gpu", &facts.gpu},     {"driver", &facts.driver},
                                                       {"cuda", &facts.cuda},   {"cublaslt", &facts.cublaslt},
                                                       {"cudnn", &facts.cudnn}, {"nccl", &facts.nccl},
                                                       {"date", &facts.date},   {"source", &facts.source}};
  for (const CsvComment& comment : comments) {
    if (const auto text = texts.find(comment.key); text != texts.end()) *text->second = comment.value.text;
    if (comment.key == "compute_capability") facts.compute_capability = plain_number(comment, "", problems);
    if (comment.key == "sm_count") facts.sm_count = plain_number(comment, "", problems);
    if (comment.key == "sm_clock") facts.sm_clock_mhz = plain_number(comment, " MHz", problems);
    if (comment.key == "memory_capacity") facts.memory_capacity = quantity<Bytes>(comment, problems);
    if (comment.key == "memory_bandwidth") facts.memory_bandwidth = quantity<Bandwidth>(comment, problems);
    if (comment.key == "power_limit") facts.power_limit = quantity<Watts>(comment, problems);
    if (comment.key == "timing") facts.is_framework_timing = comment.value.text.starts_with("framework");
  }
  return facts;
}

std::string facts_text(const RecordingFacts& facts) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("# {}: {}\n", key, with_apostrophes(value));
  };
  const auto add_number = [&](std::string_view key, std::optional<double> value, std::string_view unit) {
    if (value) add(key, shortest(*value) + std::string(unit));
  };
  const auto add_quantity = [&](std::string_view key, const auto& value) {
    if (value) add(key, exact(*value));
  };
  add("gpu", facts.gpu);
  add_number("compute_capability", facts.compute_capability, "");
  add_number("sm_count", facts.sm_count, "");
  add_number("sm_clock", facts.sm_clock_mhz, " MHz");
  add_quantity("memory_capacity", facts.memory_capacity);
  add_quantity("memory_bandwidth", facts.memory_bandwidth);
  add_quantity("power_limit", facts.power_limit);
  add("driver", facts.driver);
  add("cuda", facts.cuda);
  add("cublaslt", facts.cublaslt);
  add("cudnn", facts.cudnn);
  add("nccl", facts.nccl);
  add("date", facts.date);
  add("timing", facts.is_framework_timing ? "framework" : "");
  add("source", facts.source);
  return text;
}

}  // namespace

Recording read_recording(std::string name, std::string_view text) {
  Recording recording;
  recording.name = std::filesystem::path(name).filename().string();
  CsvProblems problems(std::move(name), text);
  const CsvFile file = parse_csv(text, problems);
  if (file.header.cells.empty() || !check_header(file, problems)) problems.finish();
  recording.facts = read_facts(file.comments, problems);
  recording.rows.reserve(file.rows.size());
  for (const CsvRow& row : file.rows) {
    if (auto kernel = read_row(Row(file.header, row, problems), row.line)) {
      recording.rows.push_back(std::move(*kernel));
    }
  }
  problems.finish();
  return recording;
}

std::string recording_text(const Recording& recording) {
  const bool has_derived = std::ranges::any_of(recording.rows, &RecordedKernel::is_derived);
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  std::string text = facts_text(recording.facts) + "op,variant,dtype,shape,bytes,time_us" +
                     (has_derived ? ",derived\n" : "\n");
  for (const RecordedKernel& row : recording.rows) {
    const std::string dtype = row.dtype ? std::string(config::name_of(*row.dtype)) : "-";
    text += fmt::format("{},{},{},{},{},{:.6g}{}\n", row.op, or_dash(row.variant), dtype,
                        or_dash(to_string(row.shape)), shortest(row.bytes.si()), row.time.si() * 1e6,
                        !has_derived     ? ""
                        : row.is_derived ? ",yes"
                                         : ",-");
  }
  return text;
}

}  // namespace trainyard
