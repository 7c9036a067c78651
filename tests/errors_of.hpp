#pragma once
// What is wrong with an input.

#include "config/diagnostic.hpp"
#include "facts_in.hpp"

#include <concepts>
#include <doctest/doctest.h>
#include <initializer_list>
#include <string>
#include <vector>

/// The diagnostics of the InputError that `read` throws; none if it does not.
template <std::invocable Read>
std::vector<trainyard::Diagnostic> errors_of(Read read) {
  try {
    read();
  } catch (const trainyard::InputError& error) {
    return error.diagnostics();
  }
  return {};
}

/// The only diagnostic of the InputError that `read` throws.
template <class Read>
trainyard::Diagnostic only_error(Read read) {
  const std::vector<trainyard::Diagnostic> errors = errors_of(read);
  REQUIRE(errors.size() == 1);
  return errors.front();
}

/// An input with one error, its place, and a part of its message or hint.
struct WrongInput {
  std::string text, key_path, part = {};
};

template <class Read>
void check_errors(std::initializer_list<WrongInput> inputs, Read read) {
  for (const WrongInput& input : inputs) {
    CAPTURE(input.text);
    const trainyard::Diagnostic error = only_error([&] { read(input.text); });
    CHECK(error.key_path == input.key_path);
    CHECK((error.message + "\n" + error.hint).find(input.part) != std::string::npos);
  }
}
