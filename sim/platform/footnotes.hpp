#pragma once
// Figures in a report, each with the number of a footnote for its origin.

#include "units/sourced.hpp"
#include "units/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// Sources in the order of first use; each gets a number.
class Footnotes {
public:
  /// "[3]"
  template <class T>
  std::string mark(const Sourced<T>& figure) {
    return mark(figure.provenance, figure.source);
  }

  /// Each mark with its source.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> list() const;

private:
  std::string mark(Provenance provenance, const std::string& source);

  std::vector<std::string> texts_;
};

/// "32 [3]"
template <class T>
std::string counted(const Sourced<T>& count, Footnotes& notes) {
  return shortest(static_cast<double>(count.value)) + " " + notes.mark(count);
}

/// "12 GB/s [3]"
template <class Q>
std::string figure(const Sourced<Q>& value, Footnotes& notes) {
  return human(value.value) + " " + notes.mark(value);
}

}  // namespace trainyard
