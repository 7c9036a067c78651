#pragma once
// Which points of a sweep are meant: patterns over the values of its keys, as `only` and `exclude` have them.

#include "sweep/sweep_file.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace trainyard {

/// Whether a value is what the condition asks for: one of its texts ("bert_base | bert_large"; numbers with
/// and without units also when written otherwise, "0.1 GB/s" and "100 MB/s"), or, behind <, <=, > or >=, a
/// smaller or larger one. A value of another kind than the bound is neither.
bool meets(std::string_view condition, std::string_view value);

/// What is wrong with a condition; empty if nothing is.
std::string wrong_condition(std::string_view condition);

/// Whether a point meets all of the pattern's conditions; `value_of` tells its value of a key.
bool meets(const PointPattern& pattern, const std::function<std::string_view(const std::string&)>& value_of);

}  // namespace trainyard
