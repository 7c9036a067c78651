#pragma once
// A program's commands: each is a function that adds one with its options and help; parsing the command line
// then calls it. Before that nothing is read or computed.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard {

struct Command {
  std::string_view name;
  void (*add)(CLI::App& program);
  bool needs_all = false;  ///< its output depends on all commands
};

/// Adds all of them, and the text of the program's own help.
void add_commands(CLI::App& program, std::span<const Command> commands);

/// A finished validation or comparison missed its limit: exit code 1.
class LimitMissed : public std::exception {
public:
  explicit LimitMissed(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Ended by SIGINT or SIGTERM in good order, with finished results kept: exit code 130.
class Interrupted : public std::exception {
public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace trainyard
