#pragma once
// Selects points of a sweep: patterns over the values of its keys, as in `only` and `exclude`.

#include "sweep/sweep_file.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace trainyard {

/// Whether a value satisfies the condition: equal to one of its texts ("bert_base | bert_large"; numbers with
/// and without units also in another notation, "0.1 GB/s" and "100 MB/s"), or, after <, <=, > or >=, a
/// smaller or larger one. False for a value of another kind than the bound.
bool meets(std::string_view condition, std::string_view value);

/// Whether the condition compares: "<= 64".
bool is_bound(std::string_view condition);

/// The error in a condition; empty if there is none.
std::string wrong_condition(std::string_view condition);

/// Whether a point satisfies all conditions of the pattern; `value_of` returns its value of a key.
bool meets(const PointPattern& pattern, const std::function<std::string_view(const std::string&)>& value_of);

}  // namespace trainyard
