#pragma once
// The statement of one setting of a job: nothing, something that only its surroundings know, a value, or a
// mistake.

#include "jobs/key_rules.hpp"
#include "jobs/setting.hpp"

#include <string>

namespace trainyard::jobs {

struct TakenValue {
  enum class Kind {
    nothing,    ///< off, null, or left to the software
    elsewhere,  ///< a variable or the output of a command
    stated,
    wrong
  };
  Kind kind = Kind::nothing;
  /// As the experiment writes it: whole numbers without '_' and ".0", booleans in small letters.
  std::string value = {};
  /// Wrong: what is. Stated: a part that was left out ("the least of 2 to 4 counts"). May be empty.
  std::string remark = {};
  std::string gpu = {};  ///< named with a count: "gpu:h100:8"
};

/// Reads a setting by the rule of a `taken` key.
TakenValue taken_value(const Setting& setting, const KeyRule& rule);

/// Whether a setting of a `differs` key has the value with which a step does not differ.
bool is_neutral(const Setting& setting, const KeyRule& rule);

}  // namespace trainyard::jobs
