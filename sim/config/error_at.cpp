#include "config/error_at.hpp"

#include <utility>
#include <vector>

namespace trainyard {

Diagnostic diagnostic_at(std::string key, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.key_path = std::move(key);
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  return diagnostic;
}

InputError error_at(std::string key, std::string message, std::string hint) {
  return InputError(std::vector{diagnostic_at(std::move(key), std::move(message), std::move(hint))});
}

}  // namespace trainyard
