#pragma once
// Turns a platform file into a Platform.

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "platform/platform.hpp"

#include <vector>

namespace trainyard {

/// The machine described by a document. One InputError has all problems of the file, of form and of meaning;
/// warnings (a GPU link below 1 GB/s, GPUs without links) are appended to `warnings`. The name must be that
/// of the document's file.
Platform load_platform(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

}  // namespace trainyard
