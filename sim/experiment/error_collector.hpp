#pragma once
// Collects all errors in the files of one experiment, so that they are reported at once.

#include "config/diagnostic.hpp"
#include "config/document.hpp"

#include <string_view>
#include <vector>

namespace trainyard {

/// The other steps run even if one throws.
class ErrorCollector {
public:
  /// Runs a step that depends on the experiment's value for `key`. Errors without a place get that of the key
  /// they name, or of `key`.
  template <class Step>
  void run(const config::Document& document, std::string_view key, Step step) {
    try {
      step();
    } catch (const InputError& error) {
      add(document, key, error);
    }
  }
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
  void finish() const;  ///< throws InputError if there are any

private:
  void add(const config::Document& document, std::string_view key, const InputError& error);
  void place(const config::Document& document, std::string_view key, const Diagnostic& error);
  void add_new(const Diagnostic& error);

  std::vector<Diagnostic> all_;
};

}  // namespace trainyard
