#include "imports/nccl_tables.hpp"

#include "config/fields.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// The largest difference of a printed bandwidth from the true one, with two decimals of GB/s.
constexpr double rounding = 0.0051e9;
/// Below this bandwidth, two decimals say too little of a ratio.
constexpr Bandwidth least_telling{0.5e9};

double factor(Operation operation, int ranks) { return busbw(operation, ranks, Bytes(1), Seconds(1)).si(); }

bool contradicts(const NcclTestsTime& time, const NcclTestsTable& table) {
  const double expected = factor(*table.operation, table.ranks) * time.algbw.si();
  return std::abs(time.busbw.si() - expected) >
         rounding * (1 + factor(*table.operation, table.ranks)) + 1e-3 * expected;
}

/// The row with the most digits.
const NcclTestsRow* fastest(const NcclTestsTable& table) {
  const auto found = std::ranges::max_element(table.rows, {},
                                              [](const NcclTestsRow& row) { return row.out_of_place.algbw; });
  return found == table.rows.end() ? nullptr : &*found;
}

/// The operation by its ratio of bus to algorithm bandwidth and its columns; empty if two have the same.
std::optional<Operation> told_by_figures(const NcclTestsTable& table) {
  const NcclTestsRow* const row = fastest(table);
  if (row == nullptr || row->out_of_place.algbw < least_telling || table.ranks < 2) return std::nullopt;
  const auto is = [&](Operation operation) {
    const double expected = factor(operation, table.ranks);
    return std::abs(row->out_of_place.busbw.si() - expected * row->out_of_place.algbw.si()) <=
           rounding * (1 + expected);
  };
  if (table.has_root) {
    if (!is(Operation::broadcast)) return std::nullopt;
    return table.has_reduction ? Operation::reduce : Operation::broadcast;
  }
  // With two ranks all_reduce has the ratio 1 of send_recv, which prints a reduction, too.
  if (table.has_reduction && table.ranks > 2 && is(Operation::all_reduce)) return Operation::all_reduce;
  if (table.has_reduction && is(Operation::reduce_scatter)) return Operation::reduce_scatter;
  return std::nullopt;
}

/// Small messages do not tell their operation: it is that of the file's other tables, if they have one.
void share_operation(NcclTestsLog& log) {
  std::set<Operation> known;
  for (const NcclTestsTable& table : log.tables) {
    if (table.operation) known.insert(*table.operation);
  }
  if (known.size() != 1) return;
  for (NcclTestsTable& table : log.tables) {
    if (!table.operation) table.operation = *known.begin();
  }
}

/// Largest deviation of a right result per further rank. Source: NVIDIA/nccl-tests until 2.12, src/common.cu,
/// DeltaMaxValue and CheckData.
double largest_deviation(std::string_view type) {
  if (type == "half" || type == "bfloat16") return 1e-2;
  if (type == "float") return 1e-5;
  return type == "double" ? 1e-12 : 0;
}

/// Until 2.12 the last column of a half was not the number of wrong values but the largest deviation.
void judge_deviations(NcclTestsTable& table) {
  const auto each_time = [&](const auto& use) {
    for (NcclTestsRow& row : table.rows) {
      use(row, row.out_of_place);
      if (row.in_place) use(row, *row.in_place);
    }
  };
  each_time([&](const NcclTestsRow&, const NcclTestsTime& time) {
    const double value = time.wrong.value_or(0);
    table.has_deviations = table.has_deviations || value != std::floor(value);
  });
  if (!table.has_deviations) return;
  each_time([&](const NcclTestsRow& row, NcclTestsTime& time) {
    if (!time.wrong) return;
    const double most = largest_deviation(row.type) * std::max(1, table.ranks - 1);
    time.wrong = table.is_in_bounds || *time.wrong <= most ? 0 : 1;
  });
}

/// A few are damaged rows. If they are most of those that tell, the operation or the ranks are wrong.
void leave_out_contradictions(NcclTestsLog& log, const std::string& file) {
  const auto tells = [](const NcclTestsRow& row) { return row.out_of_place.algbw >= least_telling; };
  std::ptrdiff_t telling = 0;
  std::ptrdiff_t telling_odd = 0;
  std::optional<InputError> first;
  for (NcclTestsTable& table : log.tables) {
    telling += std::ranges::count_if(table.rows, tells);
    if (!table.operation || table.ranks < 2) continue;
    const auto is_odd = [&](const NcclTestsRow& row) { return contradicts(row.out_of_place, table); };
    const auto is_telling_odd = [&](const NcclTestsRow& row) { return tells(row) && is_odd(row); };
    telling_odd += std::ranges::count_if(table.rows, is_telling_odd);
    const auto odd = std::ranges::find_if(table.rows, is_telling_odd);
    if (odd != table.rows.end() && !first) {
      first = input_error(
          file, odd->line,
          fmt::format(
              "bus bandwidth is {:.3f} times algorithm bandwidth here; for {} of {} GPUs it is {:.3f}",
              odd->out_of_place.busbw / odd->out_of_place.algbw, config::name_of(*table.operation),
              table.ranks, factor(*table.operation, table.ranks)),
          "--gpus N and --nodes N replace the numbers that the file says");
    }
    log.contradictory_rows += static_cast<int>(std::erase_if(table.rows, is_odd));
  }
  if (2 * telling_odd > telling) throw InputError(*first);
}

}  // namespace

void NcclRankList::add(int rank, std::string host, std::optional<int> device) {
  ranks_[rank] = {std::move(host), device};
}

int NcclRankList::ranks() const { return ranks_.empty() ? 0 : ranks_.rbegin()->first + 1; }

int NcclRankList::nodes() const {
  if (ranks_.empty()) return 0;
  if (is_whole()) {
    std::set<std::string_view> hosts;
    for (const auto& [rank, place] : ranks_) hosts.insert(place.host);
    return static_cast<int>(hosts.size());
  }
  const int on_node = ranks_.rbegin()->second.device.value_or(0) + 1;
  return on_node > 1 && ranks() % on_node == 0 ? ranks() / on_node : 0;
}

void complete_tables(NcclTestsLog& log, const std::string& file, const NcclTestsAnswers& answers) {
  for (NcclTestsTable& table : log.tables) {
    const int listed = table.ranks;
    if (answers.ranks) table.ranks = *answers.ranks;
    if (answers.nodes)
      table.nodes = *answers.nodes;
    else if (answers.ranks && listed != table.ranks)
      table.nodes = listed == 0 ? 1 : 0;  // a list of other GPUs does not tell the nodes of these
    if (!table.operation) table.operation = answers.operation ? answers.operation : told_by_figures(table);
    judge_deviations(table);
  }
  share_operation(log);
  leave_out_contradictions(log, file);
}

}  // namespace trainyard
