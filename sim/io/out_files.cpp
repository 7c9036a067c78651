#include "io/out_files.hpp"

#include "config/diagnostic.hpp"
#include "config/file_paths.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

/// Delays SIGINT, SIGTERM and the watch on limits (SIGALRM) while it exists; they arrive at its end.
class SignalsHeld {
public:
  SignalsHeld() {
    sigemptyset(&held_);
    sigaddset(&held_, SIGINT);
    sigaddset(&held_, SIGTERM);
    sigaddset(&held_, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  [[nodiscard]] static bool is_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
  }

private:
  sigset_t held_{};
  sigset_t before_{};
};

[[noreturn]] void fail(const fs::path& path, std::string_view reason) {
  throw FileError(fmt::format("cannot write '{}': {}", path.string(), reason));
}

[[noreturn]] void fail_with_errno(const fs::path& path, int error) { fail(path, std::strerror(error)); }

/// Writes all of `text` and closes. Every call is checked, because a full disk may appear in any of them. Not
/// synchronised to the medium: after a power failure the simulation is repeated, which costs less than
/// waiting for the disk.
void write_and_close(int descriptor, const fs::path& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(descriptor);
      fail_with_errno(path, error);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(descriptor) != 0) fail_with_errno(path, errno);
}

/// Creates a file that does not exist yet; errors name `shown`, the path the user gave.
int open_new(const fs::path& path, const fs::path& shown) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_with_errno(shown, errno);
  return descriptor;
}

/// What a write makes: folders above the target, then files or a folder next to it. Unless all is complete,
/// it is removed again, a folder above only if it is still empty.
class Unfinished {
public:
  Unfinished(const fs::path& target, const fs::path& shown) {
    std::error_code ignored;
    for (fs::path parent = target.parent_path(); !fs::exists(parent, ignored); parent = parent.parent_path())
      parents_.push_back(parent);
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) fail(shown, error.message());
  }
  ~Unfinished() {
    std::error_code ignored;  // the first error is the important one
    if (!written_.empty()) fs::remove_all(written_, ignored);
    for (const fs::path& parent : parents_) ::rmdir(parent.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void add(const fs::path& written) { written_ = written; }
  void complete() {
    written_.clear();
    parents_.clear();
  }

private:
  std::vector<fs::path> parents_;  ///< deepest first
  fs::path written_;
};

/// The path without links, dots and a trailing slash, so that its parent and name are the real ones.
fs::path settled(const fs::path& path) {
  if (path.empty()) throw FileError("cannot write to a file without a name");
  std::error_code error;
  fs::path result = fs::absolute(path, error);
  if (!error) result = fs::weakly_canonical(result, error);
  if (error) fail(path, error.message());
  if (!result.has_filename()) result = result.parent_path();
  return result;
}

/// The nearest folder above `path` that exists.
fs::path existing_parent(const fs::path& path) {
  fs::path parent = path.parent_path();
  std::error_code ignored;
  while (!fs::exists(parent, ignored) && parent.has_relative_path()) parent = parent.parent_path();
  return parent;
}

/// Lets the file system decide whether a folder can be created above `target`, because permissions alone are
/// not enough.
void check_parent(const fs::path& target, const fs::path& shown) {
  const SignalsHeld held;
  const fs::path parent = existing_parent(target);
  // A file without a name: of a run that is killed here nothing stays. Some file systems have none.
  const int nameless = ::open(parent.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (nameless >= 0) {
    ::close(nameless);
    return;
  }
  const fs::path probe = parent / fmt::format("{}.probe-{}", target.filename().string(), ::getpid());
  if (::mkdir(probe.c_str(), 0777) != 0) fail_with_errno(shown, errno);
  ::rmdir(probe.c_str());
}

/// A name next to `target` that no other run uses.
fs::path sibling(const fs::path& target, std::string_view word) {
  return target.parent_path() / fmt::format("{}.{}-{}", target.filename().string(), word, ::getpid());
}

bool is_present(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// True for a regular file itself, not for a link to one.
bool is_plain_file(const fs::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void check_existing_dir(const fs::path& target, const fs::path& shown, const std::set<std::string>& own,
                        bool force) {
  if (!is_present(target)) return;
  std::error_code error;
  if (!fs::is_directory(target, error)) fail(shown, "it exists and is not a folder");
  for (const fs::path& entry : config::entries(target, error)) {
    const std::string name = entry.filename().string();
    if (!force) fail(shown, "the folder exists and is not empty; --force replaces it");
    if (!own.contains(name) || !is_plain_file(entry)) {
      fail(shown, fmt::format("it holds '{}', which trainyard did not write; choose another folder", name));
    }
  }
  if (error) fail(shown, error.message());
}

/// Removes an old folder file by file: files that somebody has put there since the check remain, and the
/// folder with them.
void remove_old(const fs::path& dir, const std::set<std::string>& own) {
  for (const std::string& name : own) ::unlink((dir / name).c_str());
  ::rmdir(dir.c_str());
}

/// Puts the complete folder in its place; an old one is first renamed and restored if that fails.
void replace_dir(const fs::path& complete, const fs::path& target, const fs::path& shown,
                 const std::set<std::string>& own) {
  const fs::path aside = sibling(target, "old");
  const bool has_old = is_present(target);
  if (has_old && ::rename(target.c_str(), aside.c_str()) != 0) fail_with_errno(shown, errno);
  if (::rename(complete.c_str(), target.c_str()) != 0) {
    const int error = errno;
    if (has_old) ::rename(aside.c_str(), target.c_str());
    fail_with_errno(shown, error);
  }
  if (has_old) remove_old(aside, own);  // the new one is complete: left-over files are not an error
}

/// True for a file without content of its own to replace: a device, a pipe, a terminal.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void check_existing_file(const fs::path& target, const fs::path& shown, bool force) {
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) fail(shown, "it is a folder");
  if (is_present(target) && !force) fail(shown, "the file exists; --force replaces it");
}

}  // namespace

void check_out_dir(const fs::path& dir, const std::set<std::string>& own, bool force) {
  const fs::path target = settled(dir);
  check_existing_dir(target, dir, own, force);
  check_parent(target, dir);
}

void write_out_dir(const fs::path& dir, const std::map<std::string, std::string>& files,
                   const std::set<std::string>& own, bool force) {
  const SignalsHeld held;
  const fs::path target = settled(dir);
  check_existing_dir(target, dir, own, force);
  Unfinished unfinished(target, dir);
  const fs::path partial = sibling(target, "partial");
  if (::mkdir(partial.c_str(), 0777) != 0) fail_with_errno(dir, errno);
  unfinished.add(partial);
  for (const auto& [name, text] : files) {
    if (SignalsHeld::is_pending())
      fail(dir, "interrupted");  // the written files are removed first, then the signal arrives
    write_and_close(open_new(partial / name, dir / name), dir / name, text);
  }
  replace_dir(partial, target, dir, own);
  unfinished.complete();
}

void check_out_file(const fs::path& file, bool force) {
  if (is_special(file)) return;
  const fs::path target = settled(file);
  check_existing_file(target, file, force);
  check_parent(target, file);
}

void write_out_file(const fs::path& file, std::string_view text, bool force) {
  if (is_special(file)) {
    // Signals are not delayed: no half-written file could be removed here, and a pipe may wait for its reader
    // forever.
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) fail_with_errno(file, errno);
    write_and_close(descriptor, file, text);
    return;
  }
  const SignalsHeld held;
  const fs::path target = settled(file);
  check_existing_file(target, file, force);
  Unfinished unfinished(target, file);
  const fs::path partial = sibling(target, "partial");
  const int descriptor = open_new(partial, file);
  unfinished.add(partial);  // from here on the file is this program's
  write_and_close(descriptor, file, text);
  if (::rename(partial.c_str(), target.c_str()) != 0) fail_with_errno(file, errno);
  unfinished.complete();
}

void remove_unfinished(const fs::path& dir, std::span<const char* const> files) {
  std::error_code ignored;
  for (const fs::path& entry : config::entries(dir, ignored)) {
    const std::string name = entry.filename().string();
    const std::size_t end = name.find_last_not_of("0123456789") + 1;
    const auto is_of = [&](const char* file) {
      return name.substr(0, end) == fmt::format("{}.partial-", file);
    };
    if (end < name.size() && std::ranges::any_of(files, is_of) && is_plain_file(entry))
      ::unlink(entry.c_str());
  }
}

}  // namespace trainyard
