#pragma once
// Possible values of options and arguments, for completion: the commands declare them together with the
// option, usually just by its metavar. Nothing here is checked when a command line is read.
//
//     a kind of file in capitals (PLATFORM, MODEL, EXPERIMENT ...)   its names, or a path
//     FILE, CSV                                                      a file
//     DIR                                                            a folder
//     KEY=VALUE, KEY=V1,V2                                           a key of experiments, then its values
//
// An argument with any other metavar is treated as a file, an option with another as a number or text without
// suggestions.

#include "cli/values.hpp"
#include "config/catalogue.hpp"

#include <CLI/Option.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Offers these words, or the values of these metavars, instead of those of the option's own metavar.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words);

/// Offers the names of an enum.
template <class E>
CLI::Option* offer_names_of(CLI::Option* option) {
  const auto texts = config::texts_of<E>();
  return offer(option, std::vector<std::string>(texts.begin(), texts.end()));
}

/// The suggestions for a value.
struct Offer {
  std::vector<std::string> words;
  std::vector<config::Kind> kinds;  ///< the names of files of these kinds, or paths
  bool files = false;
  bool folders = false;
  bool settings = false;  ///< KEY=VALUE
};

Offer offer_of(CLI::Option& option);

}  // namespace trainyard
