#include "engine/child.hpp"

#include "engine/flow_network.hpp"

#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

namespace trainyard::testing {

namespace {

void write_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written <= 0) _exit(99);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

template <class T>
void write_list(int fd, const T& list) {
  static_assert(std::is_trivially_copyable_v<typename T::value_type>);
  const std::uint64_t count = list.size();
  write_all(fd, &count, sizeof count);
  write_all(fd, list.data(), count * sizeof(typename T::value_type));
}

void read_all(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd, at, size);
    if (got <= 0) throw std::runtime_error("the child process died");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

template <class T>
void read_list(int fd, T& list) {
  std::uint64_t count = 0;
  read_all(fd, &count, sizeof count);
  list.resize(count);
  read_all(fd, list.data(), count * sizeof(typename T::value_type));
}

/// The exception of the child's engine, without its text.
enum class Failure { none, engine, input, impossible };

}  // namespace

Timeline run_as_asked(const TaskGraph& graph, const EngineOptions& options) {
  engine::load_simgrid();  // once, not in each child
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    std::string error;
    Failure failure{};
    Timeline timeline;
    try {
      timeline = run(graph, options);
    } catch (const EngineError& e) {
      failure = Failure::engine;
      error = e.what();
    } catch (const InputError& e) {
      failure = Failure::input;
      error = e.diagnostics().front().message;
    } catch (const JobImpossible& e) {
      failure = Failure::impossible;
      error = e.what();
    }
    write_all(ends[1], &failure, sizeof failure);
    write_list(ends[1], error);
    write_all(ends[1], &timeline.makespan, sizeof timeline.makespan);
    write_all(ends[1], &timeline.events, sizeof timeline.events);
    std::vector<RankSpan> ranks;
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) ranks.push_back(timeline.ranks[rank]);
    write_list(ends[1], ranks);
    write_list(ends[1], timeline.collectives);
    write_list(ends[1], timeline.spans);
    write_list(ends[1], timeline.link_bytes.listed());
    _exit(0);
  }
  ::close(ends[1]);
  std::string error;
  Failure failure{};
  Timeline timeline;
  read_all(ends[0], &failure, sizeof failure);
  read_list(ends[0], error);
  read_all(ends[0], &timeline.makespan, sizeof timeline.makespan);
  read_all(ends[0], &timeline.events, sizeof timeline.events);
  std::vector<RankSpan> ranks;
  read_list(ends[0], ranks);
  timeline.ranks = std::move(ranks);
  read_list(ends[0], timeline.collectives);
  read_list(ends[0], timeline.spans);
  std::vector<double> link_bytes;
  read_list(ends[0], link_bytes);
  timeline.link_bytes = std::move(link_bytes);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (failure == Failure::engine) throw EngineError(error);
  if (failure == Failure::input) throw InputError(error);
  if (failure == Failure::impossible) throw JobImpossible(error);
  return timeline;
}

Timeline run_in_child(const TaskGraph& graph, const EngineOptions& options) {
  EngineOptions on_network = options;
  on_network.formulas = false;
  return run_as_asked(graph, on_network);
}

}  // namespace trainyard::testing
