#include "input_error.hpp"

namespace trainyard::cuda {

void Problems::add(int line, const std::string& message, const std::string& hint) {
  constexpr std::size_t most = 50;
  if (lines_.size() == most) {
    ++left_out_;
    return;
  }
  const std::string place = line > 0 ? file_ + ":" + std::to_string(line) : file_;
  lines_.push_back(place + ": error: " + message + (hint.empty() ? "" : " (" + hint + ")"));
}

void Problems::finish() const {
  if (lines_.empty()) return;
  std::string text;
  for (const std::string& line : lines_) text += (text.empty() ? "" : "\n") + line;
  if (left_out_ > 0) text += "\n" + file_ + ": error: and " + std::to_string(left_out_) + " more";
  throw InputError(text);
}

}  // namespace trainyard::cuda
