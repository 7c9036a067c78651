#pragma once
// Compression by gzip, for files that their readers take in that form.

#include <string>
#include <string_view>

namespace trainyard {

/// The same bytes whenever and wherever it runs: without a date and a file's name.
std::string compressed_by_gzip(std::string_view text);

}  // namespace trainyard
