#pragma once
// Writes the tasks of a program stream by stream, and the events by which streams wait for each other.

#include "schedule/task_graph.hpp"

#include <utility>

namespace trainyard {

class ProgramWriter {
public:
  void add(Stream stream, const Task& task) { program_.of(stream).push_back(task); }

  /// A new event that happens when everything on the stream so far has ended.
  int record(Stream stream) {
    add(stream, Record{program_.events});
    return program_.events++;
  }

  void wait(Stream stream, int event) { add(stream, Wait{event}); }

  /// Later tasks on `later` wait for everything on `earlier` so far. Returns the event.
  int order(Stream earlier, Stream later) {
    const int event = record(earlier);
    wait(later, event);
    return event;
  }

  Program take() { return std::move(program_); }

private:
  Program program_;
};

}  // namespace trainyard
