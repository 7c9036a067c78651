#pragma once
// A field of a CSV, in the format of all tables.

#include <string>
#include <string_view>

namespace trainyard {

/// Appends a field, quoted only if RFC 4180 requires it, so that the usual file has no quotes at all.
void append_field(std::string& csv, std::string_view field);

}  // namespace trainyard
