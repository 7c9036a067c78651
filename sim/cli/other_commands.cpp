#include "cli/other_commands.hpp"

#include "cli/cli.hpp"
#include "cli/complete.hpp"
#include "cli/manual.hpp"
#include "cli/terminal.hpp"
#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace trainyard {

namespace {

/// Links are followed, so that one to `trainyard` alone is enough. Throws FileError for a link to this very
/// program, which would start itself without end.
std::filesystem::path file_of(const OtherCommand& command) {
  const std::filesystem::path own = config::real_path("/proc/self/exe");
  std::filesystem::path file = own.parent_path() / command.program;
  std::error_code error;
  if (std::filesystem::equivalent(file, own, error))
    throw FileError(
        fmt::format("cannot start '{}': it is 'trainyard' itself, not the program of 'trainyard {}'",
                    file.string(), command.words));
  return file;
}

std::string missing_text(const OtherCommand& command, const std::filesystem::path& file, int error) {
  const std::string_view hint =
      error == ENOENT ? "; install or build all programs of trainyard (./dev build)" : "; see to its file";
  return fmt::format("cannot start '{}': {}\n  'trainyard {}' is a program of its own{}", file.string(),
                     std::strerror(error), command.words, hint);
}

}  // namespace

CLI::App& add_command(CLI::App& parent, const OtherCommand& command) {
  const std::string_view words = command.words;
  return *parent.add_subcommand(std::string(words.substr(words.rfind(' ') + 1)), command.text);
}

const OtherCommand* other_command(std::string_view words) {
  const auto* const found = std::ranges::find(other_commands, words, &OtherCommand::words);
  return found == other_commands.end() ? nullptr : found;
}

const OtherCommand* other_command(int argc, const char* const* argv) {
  const bool is_question = argc > 1 && argv[1] == completion_question;
  const int end = is_question ? argc - 1 : argc;
  std::string words;
  for (int i = is_question ? 2 : 1; i < end; ++i) {
    if (argv[i][0] == '-') continue;  // --help
    words += argv[i];
    if (const OtherCommand* command = other_command(words)) return command;
    words += ' ';
    const auto begins = [&](const OtherCommand& command) { return command.words.starts_with(words); };
    if (std::ranges::none_of(other_commands, begins)) break;
  }
  return nullptr;
}

int start(const OtherCommand& command, char* const* argv) {
  std::filesystem::path file;
  try {
    file = file_of(command);
    ::execv(file.c_str(), argv);
    throw FileError(missing_text(command, file, errno));
  } catch (const FileError& error) {
    print_message(fmt::format("trainyard: error: {}", error.what()));
    return exit_file;
  }
}

std::string manual_section_of(const OtherCommand& command) {
  const std::filesystem::path file = file_of(command);
  if (::access(file.c_str(), X_OK) != 0) throw FileError(missing_text(command, file, errno));
  std::FILE* const answer = ::popen(
      fmt::format("{} {} {}", in_shell_quotes(file.string()), manual_question, command.words).c_str(), "r");
  std::string text;
  constexpr std::size_t most = 4096;
  char part[most];
  while (answer != nullptr) {
    const std::size_t size = std::fread(part, 1, most, answer);
    if (size == 0) break;
    text.append(part, size);
  }
  if (answer == nullptr || ::pclose(answer) != 0 || text.empty())
    throw FileError(fmt::format("'{}' prints no manual page", file.string()));
  return text;
}

}  // namespace trainyard
