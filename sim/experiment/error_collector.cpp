#include "experiment/error_collector.hpp"

#include "config/read.hpp"

#include <algorithm>

namespace trainyard {

void ErrorCollector::finish() const {
  if (!all_.empty()) throw InputError(all_);
}

void ErrorCollector::add(const config::Document& document, std::string_view key, const InputError& error) {
  for (const Diagnostic& one : error.diagnostics()) {
    if (one.file.empty())
      place(document, one.key_path.empty() ? key : one.key_path, one);
    else
      all_.push_back(one);
  }
}

void ErrorCollector::place(const config::Document& document, std::string_view key, const Diagnostic& error) {
  config::Problems problems(document);
  problems.error(key, error.message, error.hint);
  try {
    problems.finish(nullptr);
  } catch (const InputError& placed) {
    add_new(placed.diagnostics().front());
  }
}

/// Several steps may fail for the same reason.
void ErrorCollector::add_new(const Diagnostic& error) {
  if (std::ranges::find(all_, to_string(error), to_string) == all_.end()) all_.push_back(error);
}

}  // namespace trainyard
