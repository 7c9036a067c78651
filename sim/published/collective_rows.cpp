#include "published/collective_rows.hpp"

#include "units/letters.hpp"
#include "units/text.hpp"
#include "units/trimmed.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// First words of metrics, as nccl-tests and users of MPI and PyTorch write them.
constexpr std::array<std::pair<std::string_view, Operation>, 14> metric_words{
    {{"allreduce_", Operation::all_reduce},
     {"all_reduce_", Operation::all_reduce},
     {"reducescatter_", Operation::reduce_scatter},
     {"reduce_scatter_", Operation::reduce_scatter},
     {"allgather_", Operation::all_gather},
     {"all_gather_", Operation::all_gather},
     {"broadcast_", Operation::broadcast},
     {"reduce_", Operation::reduce},
     {"gather_", Operation::gather},
     {"scatter_", Operation::scatter},
     {"alltoall_", Operation::all_to_all},
     {"all_to_all_", Operation::all_to_all},
     {"sendrecv_", Operation::send_recv},
     {"send_recv_", Operation::send_recv}}};

/// "1048576 B" is one size, "8 B..128 MiB step 1 MiB" several, "up to 512 MiB" the last of several. Empty if
/// not understood.
std::vector<Bytes> sizes_of(std::string_view text) {
  constexpr std::string_view up_to = "up to ";
  if (text.starts_with(up_to)) text.remove_prefix(up_to.size());
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const Parsed<Bytes> size = parse_quantity<Bytes>(trimmed(text));
    return size && *size > Bytes{} ? std::vector{*size} : std::vector<Bytes>{};
  }
  const std::string_view rest = text.substr(dots + 2);
  const std::size_t word = rest.find("step");
  if (word == std::string_view::npos) return {};
  const auto first = parse_quantity<Bytes>(trimmed(text.substr(0, dots)));
  const auto last = parse_quantity<Bytes>(trimmed(rest.substr(0, word)));
  const auto step = parse_quantity<Bytes>(trimmed(rest.substr(word + 4)));
  constexpr double most_sizes = 10'000;
  if (!first || !last || !step || *first <= Bytes{} || *step <= Bytes{}) return {};
  if ((*last - *first) / *step > most_sizes) return {};
  std::vector<Bytes> sizes;
  for (Bytes size = *first; size <= *last; size += *step) sizes.push_back(size);
  return sizes;
}

/// "allreduce" of "allreduce 1048576 B".
std::string first_word_of_model(const PublishedRow& row) {
  return small_letters(row.model.substr(0, row.model.find(' ')));
}

std::vector<std::string_view> names_of_operations() {
  std::vector<std::string_view> names;
  for (const auto& operation : config::Names<Operation>::table) names.push_back(operation.text);
  return names;
}

}  // namespace

bool is_about_a_collective(const PublishedRow& row) {
  const std::string metric = small_letters(row.metric);
  return std::ranges::any_of(metric_words,
                             [&](const auto& word) { return metric.starts_with(word.first); }) ||
         metric.starts_with(first_word_of_model(row) + '_');
}

std::variant<CollectiveMeasurement, std::string> collective_measurement(const PublishedRow& row) {
  CollectiveMeasurement result;
  const std::string metric = small_letters(row.metric);
  std::string_view rest;
  for (const auto& [word, operation] : metric_words) {
    if (!metric.starts_with(word)) continue;
    result.operation = operation;
    rest = std::string_view(metric).substr(word.size());
    break;
  }
  if (rest.empty() && is_about_a_collective(row))
    return fmt::format("unknown collective {}: none of {}", in_quotes(first_word_of_model(row)),
                       fmt::join(names_of_operations(), ", "));
  if (rest.empty()) return std::string(not_a_collective);
  if (row.split == "context") return std::string(only_context);
  if (row.unknown) return row.unknown->message;
  if (rest.starts_with("ring_")) result.algorithm = Algorithm::ring;
  if (rest.starts_with("tree_")) result.algorithm = Algorithm::tree;
  const std::string_view model = row.model;
  const std::size_t blank = model.find(' ');
  result.sizes = blank == std::string_view::npos ? sizes_of(model) : sizes_of(model.substr(blank + 1));
  if (result.sizes.empty()) return "no size in the column model";
  if (row.value <= 0) return "no value above 0";
  std::string value = shortest(row.value);
  value += ' ';
  value += row.unit;
  result.in_place = rest.find("inplace") != std::string_view::npos;
  if (rest.ends_with("time")) {
    const auto time = parse_quantity<Seconds>(value);
    if (!time) return "no time in the columns value and unit";
    result.measured = time->si();
    return result;
  }
  const bool is_algbw = rest.find("algbw") != std::string_view::npos;
  if (!is_algbw && rest.find("busbw") == std::string_view::npos)
    return "not a collective's time, bus bandwidth or algorithm bandwidth";
  const auto bandwidth = parse_quantity<Bandwidth>(value);
  if (!bandwidth) return "no bandwidth in the columns value and unit";
  if (is_algbw && row.gpus_total < 2) return std::string(no_gpus);
  result.figure = rest.ends_with("peak")                                ? CollectiveFigure::peak_busbw
                  : rest.ends_with("average") || rest.ends_with("mean") ? CollectiveFigure::mean_busbw
                                                                        : CollectiveFigure::last_busbw;
  const double factor = is_algbw ? sent_share(result.operation, row.gpus_total) : 1;
  result.measured = bandwidth->si() * factor;
  return result;
}

}  // namespace trainyard
