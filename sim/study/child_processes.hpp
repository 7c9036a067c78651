#pragma once
// Work in child processes: SimGrid simulates once per process, and a child uses what its parent has read
// without reading it again.

#include <functional>
#include <string>
#include <vector>

namespace trainyard {

/// make(i) for every i below `count`, each in a child of its own, `parallel` of them at once (at least one);
/// the results in order, whatever ended first. What a child throws is thrown here, that of the lowest i:
/// InputError (its first diagnostic) and JobImpossible as themselves, anything else, and a child that died,
/// as std::runtime_error.
std::vector<std::string> in_children(int count, int parallel, const std::function<std::string(int)>& make);

/// A list of numbers as bytes, and back: what children send.
std::string packed(const std::vector<double>& numbers);
std::vector<double> unpacked(const std::string& bytes);

/// Processors that this process may use, at least one.
int processors();

}  // namespace trainyard
