#include "study/child_processes.hpp"

#include "config/diagnostic.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard {
namespace {

enum Outcome : char { value = 'v', input_error = 'i', job_impossible = 'j', failure = 'f' };

/// The outcome and its text, as one piece.
std::string outcome_of(const std::function<std::string(int)>& make, int index) {
  try {
    return char{Outcome::value} + make(index);
  } catch (const InputError& error) {
    return char{Outcome::input_error} + error.diagnostics().front().message;
  } catch (const JobImpossible& error) {
    return char{Outcome::job_impossible} + std::string(error.what());
  } catch (const std::exception& error) {
    return char{Outcome::failure} + std::string(error.what());
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
  int file = -1;  ///< to read from
  std::string sent = {};
};

Child begin_child(int index, const std::function<std::string(int)>& make) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe to a child process");
  std::fflush(nullptr);  // or the child writes it again
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw std::runtime_error("no child process can be started");
  }
  if (process == 0) {
    ::close(ends[0]);
    write_all(ends[1], outcome_of(make, index));
    ::_exit(0);  // nothing of the parent's is destroyed or written out here
  }
  ::close(ends[1]);
  return {.index = index, .process = process, .file = ends[0]};
}

/// Reads what is there; false at the end.
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
    child.sent = char{Outcome::failure} + fmt::format("a child process died (status {})", status);
}

/// Its value; throws what the child threw.
std::string value_of(const std::string& sent) {
  std::string text = sent.substr(1);
  switch (sent.front()) {
    case Outcome::value:
      return text;
    case Outcome::input_error:
      throw InputError(text);
    case Outcome::job_impossible:
      throw JobImpossible(text);
    default:
      throw std::runtime_error(text);
  }
}

}  // namespace

std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make) {
  std::vector<std::string> sent(at(count));
  std::vector<Child> running;
  int next = 0;
  while (next < count || !running.empty()) {
    while (next < count && static_cast<int>(running.size()) < std::max(parallel, 1))
      running.push_back(begin_child(next++, make));
    std::vector<pollfd> files;
    for (const Child& child : running) files.push_back({.fd = child.file, .events = POLLIN, .revents = 0});
    if (::poll(files.data(), files.size(), -1) < 0) continue;  // a signal
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0 || read_some(running[i])) continue;
      end_child(running[i]);
      sent[at(running[i].index)] = std::move(running[i].sent);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::vector<std::string> values;
  values.reserve(sent.size());
  for (const std::string& bytes : sent) values.push_back(value_of(bytes));
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
