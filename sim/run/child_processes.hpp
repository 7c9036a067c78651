#pragma once
// Work in child processes: SimGrid simulates once per process, and a child uses what its parent has read
// without reading it again.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// What came of a child.
struct ChildOutcome {
  enum Kind : char {
    value = 'v',
    input_error = 'i',
    job_impossible = 'j',
    file_error = 'e',
    failure = 'f',
  };
  Kind kind = failure;
  std::string text;  ///< the value, or what went wrong
};

/// Something to do in a child, and a number to know it by.
struct ChildWork {
  int index = 0;
  std::function<std::string()> make;
};

/// Takes work from `next` until that has none, `parallel` children at once (at least one), and hands each
/// outcome to `done` as it comes, with its work's index. `next` and `done` run in this process.
void for_each_child(int parallel, const std::function<std::optional<ChildWork>()>& next,
                    const std::function<void(int, ChildOutcome)>& done);

/// make(i) for every i below `count`, each in a child of its own, `parallel` of them at once (at least one);
/// the results in order, whatever ended first. What a child throws is thrown here, that of the lowest i:
/// InputError (its first diagnostic), JobImpossible and FileError as themselves, anything else, and a child
/// that died, as std::runtime_error.
std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make);

/// A list of numbers as bytes, and back: what children send.
std::string packed(const std::vector<double>& numbers);
std::vector<double> unpacked(const std::string& bytes);

/// Processors that this process may use, at least one.
int processors();

}  // namespace trainyard
