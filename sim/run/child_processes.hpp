#pragma once
// Work in child processes: on all processors, and safe from a crash of the others. SimGrid simulates once per
// process. A child inherits the files that its parent has read.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Instead of std::bad_alloc.
inline constexpr std::string_view too_little_memory =
    "this computer has too little memory for this; fewer GPUs, micro-batches or steps need less";

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

/// Takes numbers from `next` until it returns none, computes make(number) in up to `parallel` worker
/// processes (at least one), and hands each outcome to `done` when it arrives. `next` and `done` run in this
/// process. A worker computes one number after another and keeps the files it has read; it is replaced if it
/// dies, once SimGrid has simulated in it, and after 512 numbers, so that its memory stays bounded. With
/// `kind_of` numbers of the same kind need one simulation: where SimGrid has made it, the worker goes on with
/// numbers of that kind alone.
void for_each_in_workers(int parallel, const std::function<std::optional<int>()>& next,
                         const std::function<std::string(int)>& make,
                         const std::function<void(int, ChildOutcome)>& done,
                         const std::function<int(int)>& kind_of = {});

/// The value of a child; throws the exception that it threw.
std::string value_of(ChildOutcome outcome);

/// make(i) for every i below `count` in up to `parallel` worker processes (at least one); results in order of
/// i. Exceptions of children are rethrown here, that of the lowest i: InputError (its
/// first diagnostic), JobImpossible and FileError as themselves, std::bad_alloc as JobImpossible, all others,
/// and the death of a child, as std::runtime_error.
///
/// Once `is_stopped` returns true, no more are begun: the results are those of the first numbers alone.
std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make,
                                     const std::function<bool()>& is_stopped = {});

/// A list of numbers as bytes, and back: the format in which children send.
std::string packed(const std::vector<double>& numbers);
std::vector<double> unpacked(const std::string& bytes);

/// Processors that this process may use, at least one.
int processors();

}  // namespace trainyard
