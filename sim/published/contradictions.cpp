#include "published/contradictions.hpp"

#include "published/layout_rows.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace trainyard {
namespace {

/// 0 if the text is no number above 0.
double number_of(const std::string& text) {
  const Parsed<double> number = parse_number(text);
  return number && *number > 0 ? *number : 0;
}

/// The longer over the shorter of two lengths, at least 1.
double factor_between(double one, double other) { return std::max(one / other, other / one); }

/// Rows of one model, machine and layout, whose numbers of replicas may differ.
std::string layout_without_replicas(const PublishedRow& row) {
  const LayoutColumns& layout = *row.layout;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", row.source, row.model, layout.layers,
                     layout.hidden, layout.heads, row.seq_len, row.gpu, layout.tensor, layout.pipeline,
                     layout.virtual_stages, layout.recompute, row.framework, row.precision);
}

struct TimedRow {
  const PublishedRow* row = nullptr;
  std::string work;  ///< micro-batches of a replica
};

/// Whether the times of two numbers of replicas differ by a constant.
bool differ_by_a_constant(const std::vector<TimedRow>& fewer, const std::vector<TimedRow>& more) {
  constexpr int enough = 5;
  constexpr double same = 1e-8;  // seconds
  int pairs = 0;
  double least = 0;
  double most = 0;
  for (const TimedRow& one : fewer) {
    for (const TimedRow& other : more) {
      if (one.work != other.work) continue;
      const double added = other.row->value - one.row->value;
      least = pairs == 0 ? added : std::min(least, added);
      most = pairs == 0 ? added : std::max(most, added);
      ++pairs;
    }
  }
  return pairs >= enough && most - least <= same;
}

}  // namespace

std::string flops_contradiction(const PublishedRow& row) {
  const LayoutColumns& sizes = *row.layout;
  const double stated = number_of(sizes.stated_flops);
  const double batch = number_of(row.global_batch);
  const double sequence = number_of(row.seq_len);
  if (row.metric != "step_time" || row.unit != "s" || row.value <= 0 || stated == 0 || batch == 0 ||
      sequence == 0 || sizes.layers == 0 || sizes.hidden == 0 || row.gpus_total == 0)
    return {};
  constexpr double tera = 1e12;
  constexpr double most = 1.5;
  for (const bool repeats_forward : {false, true}) {
    const double implied =
        batch * flops_of_sample(sizes, sequence, repeats_forward) / row.value / row.gpus_total / tera;
    if (factor_between(implied, stated) <= most) return {};
  }
  return "the FLOP/s that the source states contradict the batch";
}

std::set<const PublishedRow*> rows_with_a_constant_added(const std::vector<PublishedRow>& rows) {
  std::map<std::string, std::map<int, std::vector<TimedRow>>> layouts;
  for (const PublishedRow& row : rows) {
    if (!row.layout || row.metric != "step_time" || row.unit != "s" || row.layout->data == 0) continue;
    const double batch = number_of(row.global_batch) / row.layout->data;
    layouts[layout_without_replicas(row)][row.layout->data].push_back(
        {.row = &row, .work = fmt::format("{} {}", row.batch_per_gpu, batch)});
  }
  std::set<const PublishedRow*> computed;
  for (const auto& [layout, by_replicas] : layouts) {
    for (auto fewer = by_replicas.begin(); fewer != by_replicas.end(); ++fewer) {
      for (auto more = std::next(fewer); more != by_replicas.end(); ++more) {
        if (!differ_by_a_constant(fewer->second, more->second)) continue;
        for (const auto* timed_rows : {&*fewer, &*more}) {
          if (timed_rows->first == 1) continue;
          for (const TimedRow& timed : timed_rows->second) computed.insert(timed.row);
        }
      }
    }
  }
  return computed;
}

}  // namespace trainyard
