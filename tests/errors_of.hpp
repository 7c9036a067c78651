#pragma once
// What is wrong with an input.

#include "config/diagnostic.hpp"
#include "facts_in.hpp"

#include <vector>

/// The diagnostics of the InputError that `read` throws; none if it does not.
template <class Read>
std::vector<trainyard::Diagnostic> errors_of(Read read) {
  try {
    read();
  } catch (const trainyard::InputError& error) {
    return error.diagnostics();
  }
  return {};
}
