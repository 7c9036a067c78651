#include "config/command_with.hpp"

#include <fmt/format.h>

namespace trainyard::config {

std::string command_with(Kind kind, std::string_view file, bool is_whole) {
  switch (kind) {
    case Kind::platform:
      return fmt::format("--platform {}{}", file, is_whole ? " --model resnet50" : "");
    case Kind::model:
      return fmt::format("--model {}{}", file, is_whole ? " --platform dgx2" : "");
    case Kind::stack:
      return fmt::format("--stack {}{}", file, is_whole ? " --model resnet50 --platform dgx2" : "");
    case Kind::gpu:
      return fmt::format("--gpu {}{}", file, is_whole ? " --platform dgx2 --model resnet50" : "");
    case Kind::sweep:
      return fmt::format("'trainyard sweep {}'", file);
    case Kind::experiment:
      return fmt::format("'trainyard run {}'", file);
    default:
      return fmt::format("'trainyard check {}' reads it", file);
  }
}

}  // namespace trainyard::config
