#pragma once
// The cases of the bench: commands of trainyard with the project's own limits.

#include "bench/child.hpp"
#include "units/quantity.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard::bench {

/// A command of trainyard that prints JSON, and its limits.
struct Case {
  std::string name;
  std::vector<std::string> arguments;
  std::optional<std::string> answer = {};  ///< JSON pointer to the seconds compared with the closed form
  std::optional<Seconds> cpu_limit = {};
  std::optional<Bytes> memory_limit = {};
  bool has_closed_form = true;  ///< --fidelity closed can simulate it
  bool is_long = false;         ///< one run is enough
};

std::vector<Case> cases(const std::string& program);

/// Throws std::runtime_error if the command fails.
ChildRun run_case(const std::string& program, const std::vector<std::string>& arguments);

/// A number of a JSON text.
double answer_in(const std::string& output, const std::string& pointer);

}  // namespace trainyard::bench
