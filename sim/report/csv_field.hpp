#pragma once
// A field of a CSV, as all tables write it.

#include <string>
#include <string_view>

namespace trainyard {

/// Appends a field, quoted only where RFC 4180 asks for it, so that the usual file has no quotes at all.
void append_field(std::string& csv, std::string_view field);

}  // namespace trainyard
