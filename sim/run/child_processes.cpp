#include "run/child_processes.hpp"

#include "config/diagnostic.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard {
namespace {

/// The outcome and its text in one string.
std::string outcome_of(const std::function<std::string()>& make) {
  try {
    return char{ChildOutcome::value} + make();
  } catch (const InputError& error) {
    return char{ChildOutcome::wrong_input} + error.diagnostics().front().message;
  } catch (const JobImpossible& error) {
    return char{ChildOutcome::job_impossible} + std::string(error.what());
  } catch (const FileError& error) {
    return char{ChildOutcome::file_error} + std::string(error.what());
  } catch (const std::exception& error) {
    return char{ChildOutcome::failure} + std::string(error.what());
  }
}

void write_all(int file, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);
    done += static_cast<std::size_t>(written);
  }
}

struct Child {
  int index = 0;
  pid_t process = 0;
  int file = -1;  ///< read end of the pipe
  std::string sent = {};
};

Child begin_child(const ChildWork& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("cannot create a pipe to a child process");
  std::fflush(nullptr);  // else the child writes the buffers again
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw std::runtime_error("cannot start a child process");
  }
  if (process == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read the child's result
    write_all(ends[1], outcome_of(work.make));
    ::_exit(0);  // runs no destructors and flushes no buffers of the parent
  }
  ::close(ends[1]);
  return {.index = work.index, .process = process, .file = ends[0]};
}

/// Reads the available bytes; false at the end.
bool read_some(Child& child) {
  std::array<char, 1U << 16U> buffer{};
  const ssize_t got = ::read(child.file, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) child.sent.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void end_child(Child& child) {
  ::close(child.file);
  int status = 0;
  while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || child.sent.empty())
    child.sent = char{ChildOutcome::failure} +
                 (WIFSIGNALED(status)
                      ? fmt::format("its process was killed by signal {} (out of memory?)", WTERMSIG(status))
                      : fmt::format("its process ended with exit code {}", WEXITSTATUS(status)));
}

/// The running children. Those still running when an exception is thrown are killed and their output dropped.
class Running {
public:
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    for (Child& child : children_) {
      ::kill(child.process, SIGKILL);
      end_child(child);
    }
  }

  [[nodiscard]] int count() const { return static_cast<int>(children_.size()); }
  void begin(const ChildWork& work) { children_.push_back(begin_child(work)); }

  /// Waits until some children have output; returns those that have ended.
  std::vector<Child> wait() {
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({.fd = child.file, .events = POLLIN, .revents = 0});
    std::vector<Child> ended;
    if (::poll(files.data(), files.size(), -1) < 0) return ended;  // interrupted by a signal
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0 || read_some(children_[i])) continue;
      ended.push_back(std::move(children_[i]));
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      end_child(ended.back());
    }
    return ended;
  }

private:
  std::vector<Child> children_;
};

}  // namespace

void for_each_child(int parallel, const std::function<std::optional<ChildWork>()>& next,
                    const std::function<void(int, ChildOutcome)>& done) {
  Running running;
  bool has_more = true;
  while (has_more || running.count() > 0) {
    while (has_more && running.count() < std::max(parallel, 1)) {
      const std::optional<ChildWork> work = next();
      has_more = work.has_value();
      if (work) running.begin(*work);
    }
    if (running.count() == 0) break;
    for (Child& child : running.wait()) {
      done(child.index,
           {.kind = static_cast<ChildOutcome::Kind>(child.sent.front()), .text = child.sent.substr(1)});
    }
  }
}

std::string value_of(ChildOutcome outcome) {
  switch (outcome.kind) {
    case ChildOutcome::value:
      return std::move(outcome.text);
    case ChildOutcome::wrong_input:
      throw InputError(outcome.text);
    case ChildOutcome::job_impossible:
      throw JobImpossible(outcome.text);
    case ChildOutcome::file_error:
      throw FileError(outcome.text);
    case ChildOutcome::failure:
      break;
  }
  throw std::runtime_error(outcome.text);
}

std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make) {
  std::vector<ChildOutcome> outcomes(at(count));
  int begun = 0;
  const auto next = [&]() -> std::optional<ChildWork> {
    if (begun == count) return std::nullopt;
    const int index = begun++;
    return ChildWork{index, [&make, index] { return make(index); }};
  };
  for_each_child(parallel, next,
                 [&](int index, ChildOutcome outcome) { outcomes[at(index)] = std::move(outcome); });
  std::vector<std::string> values;
  values.reserve(outcomes.size());
  for (ChildOutcome& outcome : outcomes) values.push_back(value_of(std::move(outcome)));
  return values;
}

std::string packed(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * sizeof(double), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::vector<double> unpacked(const std::string& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

int processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

}  // namespace trainyard
