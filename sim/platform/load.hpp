#pragma once
// From a platform file to a Platform: the first arrow of the flow for machines.

#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "platform/platform.hpp"

#include <vector>

namespace trainyard {

/// The machine a document describes. All problems of the file, of form and of meaning, come in one
/// InputError; doubts (a GPU link below 1 GB/s, GPUs that no links join) are appended to `warnings`. The name
/// must be that of the file the document came from.
Platform load_platform(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

}  // namespace trainyard
