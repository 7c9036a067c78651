#pragma once
// What the value of an option or argument can be, for completion: the commands say it where they declare the
// option, most of them by its metavar alone. Nothing here is checked when a command line is read.
//
//     a kind of file in capitals (PLATFORM, MODEL, EXPERIMENT ...)   its names, or a path
//     FILE, CSV                                                      a file
//     DIR                                                            a folder
//
// An argument with any other metavar is taken for a file, an option with another for a number or a text of
// which nothing is known.

#include "cli/values.hpp"
#include "config/catalogue.hpp"

#include <CLI/Option.hpp>
#include <string>
#include <vector>

namespace trainyard {

/// Offers these words, or what these metavars stand for, whatever the option's own metavar is.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words);

/// Offers the names of an enum.
template <class E>
CLI::Option* offer_names_of(CLI::Option* option) {
  const auto texts = config::texts_of<E>();
  return offer(option, std::vector<std::string>(texts.begin(), texts.end()));
}

/// What can be offered for a value.
struct Offer {
  std::vector<std::string> words;
  std::vector<config::Kind> kinds;  ///< the names of these, or paths
  bool files = false;
  bool folders = false;
};

Offer offer_of(CLI::Option& option);

}  // namespace trainyard
