#include "run/default_batch.hpp"

#include "config/read_file.hpp"
#include "run/memory_verdict.hpp"
#include "workload/csv.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace trainyard {
namespace {

constexpr const char* batch_key = "batch_per_gpu";

}  // namespace

std::optional<int> batch_of_trace(const Overrides& overrides) {
  // The last one counts, as everywhere.
  const auto entry = std::find_if(overrides.rbegin(), overrides.rend(),
                                  [](const auto& one) { return one.first == "trace"; });
  if (entry == overrides.rend() || entry->second == "none") return std::nullopt;
  const Trace trace = read_trace(entry->second, config::read_file(entry->second, largest_csv));
  return trace.batch_per_gpu > 0 ? std::optional(trace.batch_per_gpu) : std::nullopt;
}

std::optional<DefaultBatch> default_batch(const config::Catalogue& catalogue, const Overrides& overrides) {
  const auto is_batch = [](const auto& entry) { return entry.first == batch_key; };
  if (std::ranges::any_of(overrides, is_batch)) return std::nullopt;
  Overrides least = overrides;
  least.emplace_back(batch_key, "1");
  const ResolvedExperiment resolved = resolve(catalogue, no_file, least);
  if (!has_memory(resolved)) return DefaultBatch{};
  const int largest = std::min(fullest(memory_reports(resolved)).largest_batch, most_default_batch);
  if (largest < 1) return DefaultBatch{};
  return DefaultBatch{.samples = static_cast<int>(std::bit_floor(static_cast<unsigned>(largest))),
                      .fits = true};
}

}  // namespace trainyard
