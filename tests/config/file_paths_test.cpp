#include "config/file_paths.hpp"

#include "config/diagnostic.hpp"
#include "config/read_file.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace trainyard;

namespace {

namespace fs = std::filesystem;

/// The arguments of the call whose opening parenthesis is at `open`.
std::string arguments(const std::string& text, std::size_t open) {
  int depth = 0;
  std::size_t end = open;
  do {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    ++end;
  } while (depth > 0 && end < text.size());
  return text.substr(open, end - open);
}

/// Calls of std::filesystem in a source that throw where the file system fails.
std::vector<std::string> throwing_calls(const std::string& text) {
  static const std::regex call(
      R"(\b(?:fs|filesystem)::(absolute|canonical|weakly_canonical|relative|proximate|current_path|exists|)"
      R"(equivalent|file_size|is_\w+|status|symlink_status|last_write_time|read_symlink|remove|remove_all|)"
      R"(rename|resize_file|copy\w*|create_\w+|permissions|space|temp_directory_path)\()");
  static const std::regex checked(R"(\b(error|ignored|status)\b)");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), call), end; match != end; ++match) {
    const auto open = static_cast<std::size_t>(match->position() + match->length()) - 1;
    const std::string its = arguments(text, open);
    if (!std::regex_search(its, checked)) found.push_back(match->str() + its.substr(1));
  }
  // Steps of a range-for over a folder throw too: entries() does not.
  if (text.find("directory_entry") != std::string::npos) found.emplace_back("directory_entry");
  return found;
}

/// What `ask` throws in a folder that is gone: its own message, or nothing.
bool fails_in_a_removed_folder(const std::function<void()>& ask) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    if (::chdir(folder.path.c_str()) == 0 && ::rmdir(folder.path.c_str()) == 0) {
      try {
        ask();
      } catch (const FileError&) {
        code = 0;
      } catch (...) {
        code = 2;
      }
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a file beside the one that names it goes before one of the current folder") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "there.csv") << "x";
  const TemporaryFolder current;
  for (const char* const name : {"there.csv", "elsewhere.csv"}) std::ofstream(current.path / name) << "y";
  const fs::path before = fs::current_path();
  fs::current_path(current.path);
  const fs::path experiment = folder.path / "e.yaml";
  CHECK(config::beside(experiment, "there.csv") == folder.path / "there.csv");
  CHECK(config::beside(experiment, "elsewhere.csv") == "elsewhere.csv");
  CHECK(config::beside(experiment, "nowhere.csv") == folder.path / "nowhere.csv");
  CHECK(config::beside(experiment, "/there.csv") == "/there.csv");
  fs::current_path(before);
}

TEST_CASE("a file that cannot be looked at is taken to be there, and reading it says why it cannot be read") {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder.path / "loop");
  for (const std::string& name : {std::string("loop"), std::string(300, 'x')}) {
    const fs::path file = config::beside(folder.path / "e.yaml", name);
    CHECK(file == folder.path / name);
    CHECK_THROWS_AS(config::read_file(file, 100), FileError);
  }
}

TEST_CASE("a file read in pieces is the file, and one byte too many is refused") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "long";
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{1} << 20U, std::size_t{2'500'000}}) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
    std::ofstream(file) << text;
    std::string read;
    config::read_in_pieces(file, size, [&](std::string_view piece) { read += piece; });
    CHECK(read == text);
    if (size > 0) CHECK_THROWS_AS(config::read_in_pieces(file, size - 1, [](std::string_view) {}), FileError);
  }
  CHECK_THROWS_AS(config::read_in_pieces(folder.path, 100, [](std::string_view) {}), FileError);
}

TEST_CASE("in a folder that was removed, paths that depend on it are an error of files") {
  CHECK(fails_in_a_removed_folder([] { (void)config::current_folder(); }));
  CHECK(fails_in_a_removed_folder([] { (void)config::absolute_path("x"); }));
  CHECK(fails_in_a_removed_folder([] { (void)config::real_path("x"); }));
  CHECK_FALSE(fails_in_a_removed_folder([] { (void)config::absolute_path("/x/./y"); }));
}

TEST_CASE("what a folder holds, or why that cannot be told") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "a") << "x";
  fs::create_directory(folder.path / "b");
  std::error_code error;
  std::vector<fs::path> found = config::entries(folder.path, error);
  std::ranges::sort(found);
  CHECK(found == std::vector<fs::path>{folder.path / "a", folder.path / "b"});
  CHECK(!error);
  CHECK(config::entries(folder.path / "a", error).empty());
  CHECK(error);
}

TEST_CASE("nothing in sim/ calls std::filesystem so that it throws: that would end the program as our bug") {
  CHECK(throwing_calls("if (fs::exists(folder / f(name))) x();") ==
        std::vector<std::string>{"fs::exists(folder / f(name))"});
  int sources = 0;
  for (const auto& entry : fs::recursive_directory_iterator(TRAINYARD_SOURCE_DIR "/sim")) {
    const fs::path& file = entry.path();
    if (file.extension() != ".cpp" && file.extension() != ".hpp") continue;
    CAPTURE(file.string());
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    ++sources;
    if (text.str().find("fs::") == std::string::npos && text.str().find("filesystem::") == std::string::npos)
      continue;
    CHECK(throwing_calls(text.str()) == std::vector<std::string>{});
  }
  CHECK(sources > 300);
}
