#pragma once
// An error in a user's file, laid out for a page. Apart from diagnostic.hpp, which nearly every source reads.

#include "config/diagnostic.hpp"

#include <cstddef>
#include <string>

namespace trainyard {

/// to_string() of the diagnostic in lines of at most `width` columns, in which words stay whole: a hint that
/// does not fit after its caret stands below it, and a long source line is cut to the part around the caret.
std::string to_lines(const Diagnostic& diagnostic, std::size_t width);

}  // namespace trainyard
