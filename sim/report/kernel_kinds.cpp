#include "report/kernel_kinds.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace trainyard {

std::vector<KernelKind> kernel_kinds(const ClassStep& one) {
  std::map<OpKind, KernelKind> by_kind;
  for (const OpRow& row : one.ops) {
    KernelKind& kind = by_kind[row.kind];
    kind.kind = row.kind;
    kind.time += row.runs * row.duration;
    kind.kernels += row.runs;
  }
  std::vector<KernelKind> kinds;
  for (const auto& [name, kind] : by_kind) kinds.push_back(kind);
  std::ranges::stable_sort(kinds, std::greater{}, &KernelKind::time);
  return kinds;
}

Seconds sum_of(const std::vector<KernelKind>& kinds) {
  Seconds sum;
  for (const KernelKind& kind : kinds) sum += kind.time;
  return sum;
}

}  // namespace trainyard
