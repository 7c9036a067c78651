#pragma once
// Work in child processes: SimGrid simulates once per process, and a child uses the files its parent has read
// without reading them again.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// The result of a child.
struct ChildOutcome {
  enum Kind : char {
    value = 'v',
    wrong_input = 'i',
    job_impossible = 'j',
    file_error = 'e',
    failure = 'f',
  };
  Kind kind = failure;
  std::string text;  ///< the value, or the error message
};

/// A function to run in a child, with a number that identifies it.
struct ChildWork {
  int index = 0;
  std::function<std::string()> make;
};

/// Takes work from `next` until it returns none, runs up to `parallel` children at once (at least one), and
/// hands each outcome to `done` when it arrives, with its work's index. `next` and `done` run in this
/// process.
void for_each_child(int parallel, const std::function<std::optional<ChildWork>()>& next,
                    const std::function<void(int, ChildOutcome)>& done);

/// The value of a child; throws the exception that it threw.
std::string value_of(ChildOutcome outcome);

/// make(i) for every i below `count`, each in its own child, `parallel` of them at once (at least one);
/// results in order of i. Exceptions of children are rethrown here, that of the lowest i: InputError (its
/// first diagnostic), JobImpossible and FileError as themselves, all others, and the death of a child, as
/// std::runtime_error.
std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make);

/// A list of numbers as bytes, and back: the format in which children send.
std::string packed(const std::vector<double>& numbers);
std::vector<double> unpacked(const std::string& bytes);

/// Processors that this process may use, at least one.
int processors();

}  // namespace trainyard
