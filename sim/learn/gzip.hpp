#pragma once
// Files compressed with gzip.

#include <cstdint>
#include <string>

namespace trainyard {

/// `bytes` if they are not compressed, otherwise their content. Throws InputError, with `name`, if they are
/// damaged or cut off, or hold more than `largest` bytes.
std::string uncompressed(const std::string& name, std::string bytes, std::uintmax_t largest);

}  // namespace trainyard
