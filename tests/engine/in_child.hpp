#pragma once
// Computes a plain value in a child process: SimGrid allows one simulation per process.

#include "engine/flow_network.hpp"

#include <cstdio>
#include <stdexcept>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace trainyard::testing {

/// make() in a child. Throws if the child ends without a value.
template <class Value, class Make>
Value in_child(Make make) {
  static_assert(std::is_trivially_copyable_v<Value>);
  engine::load_simgrid();  // once, not in each child
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);  // or the child writes it again
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      const Value value = make();
      code = ::write(ends[1], &value, sizeof value) == static_cast<ssize_t>(sizeof value) ? 0 : 1;
    } catch (...) {  // the parent sees that there is no value
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  Value value{};
  const bool has_come = ::read(ends[0], &value, sizeof value) == static_cast<ssize_t>(sizeof value);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!has_come || status != 0) throw std::runtime_error("the child ended without a value");
  return value;
}

}  // namespace trainyard::testing
