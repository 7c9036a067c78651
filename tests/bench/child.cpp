#include "bench/child.hpp"

#include <array>
#include <cerrno>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace trainyard::bench {

namespace {

constexpr int cannot_start = 127;  // as in a shell; the program has no such exit code

void check(int error, const std::string& what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

std::string read_to_end(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t size = read(file, buffer.data(), buffer.size());
    if (size == 0) return text;
    if (size > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    } else if (errno != EINTR) {
      check(errno, "reading a child's output");
    }
  }
}

Seconds seconds(const timeval& time) {
  return Seconds(static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec));
}

}  // namespace

ChildRun run_child(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  std::array<int, 2> ends{};
  check(pipe(ends.data()) == 0 ? 0 : errno, "pipe");
  const auto [read_end, write_end] = ends;
  // A child's peak of memory counts what it has from its parent: the parent's own peak after posix_spawn(),
  // but only what the parent holds now after fork().
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(write_end, STDOUT_FILENO);
    close(read_end);
    close(write_end);
    execv(arguments.front(), arguments.data());
    _exit(cannot_start);
  }
  const int error = child < 0 ? errno : 0;
  close(write_end);
  if (error != 0) close(read_end);
  check(error, "cannot start " + command.front());

  ChildRun run;
  run.output = read_to_end(read_end);
  close(read_end);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) check(errno, "waiting for " + command.front());
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == cannot_start)
    check(ENOEXEC, "cannot start " + command.front());
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  run.peak_memory = Bytes(1024.0 * static_cast<double>(usage.ru_maxrss));
  return run;
}

}  // namespace trainyard::bench
