#include "lowering/load_whole_lowering.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

Lowering load(const config::Document& document, const LoweringNamed& find, int depth) {
  constexpr int deepest = 4;
  const config::Node* const like = document.root.find("like");
  if (like == nullptr || config::is_unset(*like)) return load_lowering(document);
  if (depth == deepest)
    throw InputError(fmt::format("'like' of {} leads to more than {} other lowerings, or back to itself",
                                 document.name, deepest),
                     "like: pytorch_2_11");
  const Lowering base = load(find(like->scalar, document.name), find, depth + 1);
  return load_lowering(document, &base);
}

}  // namespace

Lowering load_whole_lowering(const config::Document& document, const LoweringNamed& find) {
  return load(document, find, 0);
}

}  // namespace trainyard
