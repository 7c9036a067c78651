#include "run/child_processes.hpp"

#include "config/diagnostic.hpp"
#include "engine/flow_network.hpp"
#include "limits/run_limits.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <sched.h>
#include <span>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
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
  } catch (const std::bad_alloc&) {
    return char{ChildOutcome::job_impossible} + std::string(too_little_memory);
  } catch (const std::exception& error) {
    return char{ChildOutcome::failure} + std::string(error.what());
  }
}

/// Sends all bytes over a socket; false if the other end is gone.
bool send_all(int socket, const void* bytes, std::size_t size) {
  const char* const first = static_cast<const char*>(bytes);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t sent = ::send(socket, first + done, size - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

/// The header before each outcome that is sent to the parent.
struct OutcomeHead {
  std::uint64_t size = 0;    ///< of the outcome, in bytes
  bool has_simgrid = false;  ///< SimGrid has simulated in this worker
  bool ends = false;         ///< the worker ends now
};

constexpr int no_more = -1;  ///< a number that ends a worker
constexpr int numbers_per_worker = 512;

/// Computes the numbers that arrive, until one ends it or SimGrid is used up. Runs no destructors and flushes
/// no buffers of the parent, and no exception gets back into its code.
[[noreturn]] void work(int socket, const std::function<std::string(int)>& make, bool has_kinds) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read the results
  // Ctrl-C, or the end of a Slurm job, is for the parent: a sweep waits for the points that are begun. Where
  // the parent ends, so does this worker.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  keep_limits_in_child();
  // Each number takes and frees the same few megabytes: the system would clear their pages every time.
  constexpr int kept = 256 << 20;
  ::mallopt(M_TRIM_THRESHOLD, kept);
  ::mallopt(M_MMAP_THRESHOLD, kept / 8);
  int number = no_more;
  while (::recv(socket, &number, sizeof number, MSG_WAITALL) == sizeof number && number != no_more) {
    begin_part();
    const std::string outcome = outcome_of([&] { return make(number); });
    const bool has_simgrid = engine::has_simgrid_network();
    const bool has_failed = outcome.front() != static_cast<char>(ChildOutcome::value);
    const OutcomeHead head{.size = outcome.size(),
                           .has_simgrid = has_simgrid,
                           .ends = has_simgrid && (!has_kinds || has_failed)};
    if (!send_all(socket, &head, sizeof head) || !send_all(socket, outcome.data(), outcome.size()))
      ::_exit(1);
    if (head.ends) break;
  }
  ::_exit(0);
}

/// A worker process and the number that it computes.
struct Worker {
  int number = 0;
  int numbers = 0;           ///< begun so far
  bool has_simgrid = false;  ///< used up: only numbers of the same kind as the last one
  pid_t process = 0;
  int socket = -1;
  std::string sent = {};
};

Worker begin_worker(const std::function<std::string(int)>& make, bool has_kinds) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error("cannot create a connection to a child process");
  std::fflush(nullptr);  // else the child writes the buffers again
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw std::runtime_error("cannot start a child process");
  }
  if (process == 0) {
    ::close(ends[0]);
    work(ends[1], make, has_kinds);
  }
  ::close(ends[1]);
  return {.process = process, .socket = ends[0]};
}

/// False if the worker has died.
bool give(Worker& worker, int number) {
  worker.number = number;
  worker.numbers += 1;
  worker.sent.clear();
  return send_all(worker.socket, &number, sizeof number);
}

/// Reads the available bytes; false at the end.
bool read_some(Worker& worker) {
  std::array<char, 1U << 16U> buffer{};
  const ssize_t got = ::read(worker.socket, buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) worker.sent.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

/// The head of the outcome, once all of it has arrived.
std::optional<OutcomeHead> arrived(const Worker& worker) {
  OutcomeHead head;
  if (worker.sent.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, worker.sent.data(), sizeof head);
  return worker.sent.size() < sizeof head + head.size ? std::nullopt : std::optional(head);
}

/// Waits for the end of a worker; its status.
int end_worker(const Worker& worker) {
  ::close(worker.socket);
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ChildOutcome death_of(int status) {
  if (const std::string limit = WIFEXITED(status) ? limit_exceeded(WEXITSTATUS(status)) : ""; !limit.empty())
    return {.kind = ChildOutcome::job_impossible, .text = limit};
  return {.kind = ChildOutcome::failure,
          .text = WIFSIGNALED(status)
                      ? fmt::format("its process was killed by signal {} (out of memory?)", WTERMSIG(status))
                      : fmt::format("its process ended with exit code {}", WEXITSTATUS(status))};
}

/// The workers. An exception kills the busy ones and drops their output.
class Workers {
public:
  Workers(const std::function<std::string(int)>& make, const std::function<int(int)>& kind_of)
      : make_(make), kind_of_(kind_of) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    for (const Worker& worker : busy_) {
      ::kill(worker.process, SIGKILL);
      end_worker(worker);
    }
    for (Worker& worker : idle_) end(worker);
  }

  [[nodiscard]] int busy() const { return static_cast<int>(busy_.size()); }

  void begin(int number) {
    while (!idle_.empty()) {
      Worker worker = std::move(idle_.back());
      idle_.pop_back();
      if (worker.has_simgrid && kind_of_(worker.number) != kind_of_(number)) {
        end(worker);
        continue;
      }
      if (give(worker, number)) {
        busy_.push_back(std::move(worker));
        return;
      }
      end_worker(worker);  // died while it was idle
    }
    if (use_simgrid_) engine::load_simgrid();  // once, not in each worker
    busy_.push_back(begin_worker(make_, static_cast<bool>(kind_of_)));
    give(busy_.back(), number);  // if it has died already, its end is read
  }

  /// Waits until some workers have sent something; hands over the outcomes that are complete.
  void wait(const std::function<void(int, ChildOutcome)>& done) {
    std::vector<pollfd> files;
    for (const Worker& worker : busy_) files.push_back({.fd = worker.socket, .events = POLLIN, .revents = 0});
    if (::poll(files.data(), files.size(), -1) < 0) return;  // interrupted by a signal
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0) continue;
      const bool has_ended = !read_some(busy_[i]);
      const std::optional<OutcomeHead> head = arrived(busy_[i]);
      if (!head && !has_ended) continue;
      Worker worker = std::move(busy_[i]);
      busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(i));
      const int number = worker.number;
      done(number, head ? take(std::move(worker), *head) : death_of(end_worker(worker)));
    }
  }

private:
  /// Takes the outcome; the worker is idle then, or ends.
  ChildOutcome take(Worker worker, const OutcomeHead& head) {
    ChildOutcome outcome{.kind = static_cast<ChildOutcome::Kind>(worker.sent[sizeof head]),
                         .text = worker.sent.substr(sizeof head + 1)};
    use_simgrid_ = use_simgrid_ || head.has_simgrid;
    worker.has_simgrid = head.has_simgrid;
    if (head.ends)
      end_worker(worker);
    else if (worker.numbers == numbers_per_worker)
      end(worker);
    else
      idle_.push_back(std::move(worker));
    return outcome;
  }

  static void end(Worker& worker) {
    give(worker, no_more);
    end_worker(worker);
  }

  const std::function<std::string(int)>& make_;
  const std::function<int(int)>& kind_of_;
  std::vector<Worker> busy_;
  std::vector<Worker> idle_;
  bool use_simgrid_ = false;
};

}  // namespace

void for_each_in_workers(int parallel, const std::function<std::optional<int>()>& next,
                         const std::function<std::string(int)>& make,
                         const std::function<void(int, ChildOutcome)>& done,
                         const std::function<int(int)>& kind_of) {
  Workers workers(make, kind_of);
  bool has_more = true;
  while (has_more || workers.busy() > 0) {
    while (has_more && workers.busy() < std::max(parallel, 1)) {
      const std::optional<int> number = next();
      has_more = number.has_value();
      if (number) workers.begin(*number);
    }
    if (workers.busy() > 0) workers.wait(done);
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

std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make,
                                     const std::function<bool()>& is_stopped) {
  std::vector<ChildOutcome> outcomes(at(count));
  int begun = 0;
  const auto next = [&]() -> std::optional<int> {
    if (begun == count || (is_stopped && is_stopped())) return std::nullopt;
    return begun++;
  };
  for_each_in_workers(parallel, next, make,
                      [&](int index, ChildOutcome outcome) { outcomes[at(index)] = std::move(outcome); });
  std::vector<std::string> values;
  values.reserve(at(begun));
  for (ChildOutcome& outcome : std::span(outcomes).first(at(begun)))
    values.push_back(value_of(std::move(outcome)));
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
