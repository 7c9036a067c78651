#include "config/catalogue.hpp"
#include "config/document.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace trainyard;
using namespace trainyard::config;
namespace fs = std::filesystem;

namespace {

/// A temporary folder, removed after the test.
class Folder {
public:
  Folder() : path_(fs::temp_directory_path() / ("trainyard_config_" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path add(const fs::path& name, std::string_view text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

template <class Error>
std::string load_error(const fs::path& file) {
  try {
    load(file);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string find_error(const Catalogue& catalogue, Kind kind, std::string_view name) {
  try {
    find(catalogue, kind, name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a file that cannot be read is a file error, not an input error") {
  const Folder folder;
  const std::string path = folder.path().string();
  CHECK(load_error<FileError>(path) == "cannot read '" + path + "': it is a directory");
  CHECK(load_error<FileError>(path + "/none.yaml") == "cannot read '" + path + "/none.yaml': no such file");
  CHECK(load_error<FileError>("/dev/null") == "cannot read '/dev/null': not a regular file");
}

TEST_CASE("a file is read whole and its errors carry its name") {
  const Folder folder;
  CHECK(load(folder.add("a.yaml", "title: x\n")).root.find("title")->scalar == "x");
  const fs::path empty = folder.add("empty.yaml", "");
  CHECK(load_error<InputError>(empty) == empty.string() + ": error: file is empty");
  const fs::path large = folder.add("large.yaml", std::string((4U << 20U) + 1, '#'));
  CHECK(load_error<InputError>(large) == large.string() + ": error: file has 4194305 bytes, more than 4 MiB");
}

TEST_CASE("names are looked up in the catalogue, paths beside the file that names them") {
  const Folder folder;
  const fs::path dgx2 = folder.add("one/platforms/dgx2.yaml", "a: 1\n");
  folder.add("one/platforms/dgx1.yaml", "a: 1\n");
  const fs::path v100 = folder.add("one/platforms/gpus/v100.yaml", "a: 1\n");
  folder.add("one/platforms/README.md", "");
  folder.add("one/workloads/models/resnet50.yaml", "a: 1\n");
  const fs::path mine = folder.add("two/platforms/mine.yaml", "a: 1\n");
  folder.add("two/platforms/dgx2.yaml", "a: 2\n");
  const Catalogue catalogue{{folder.path() / "one", folder.path() / "two"}};

  CHECK(names(catalogue, Kind::platform) == std::vector<std::string>{"dgx1", "dgx2", "mine"});
  CHECK(names(catalogue, Kind::gpu) == std::vector<std::string>{"v100"});
  CHECK(names(catalogue, Kind::stack).empty());
  CHECK(find(catalogue, Kind::platform, "dgx2") == dgx2);
  CHECK(find(catalogue, Kind::platform, "mine") == mine);
  CHECK(find(catalogue, Kind::gpu, "v100") == v100);
  CHECK(find(catalogue, Kind::platform, "mine.yaml", mine) == mine);
  CHECK(find(catalogue, Kind::platform, "../platforms/mine.yaml", mine) == mine);
  CHECK(find(catalogue, Kind::platform, mine.string(), dgx2) == mine);

  CHECK(find_error(catalogue, Kind::platform, "dxg2") ==
        "error: unknown platform 'dxg2'\n  did you mean 'dgx2'?");
  CHECK(find_error(catalogue, Kind::gpu, "h100x") == "error: unknown GPU profile 'h100x'\n  known: v100");
  CHECK(find_error(catalogue, Kind::platform, "") == "error: unknown platform ''\n  known: dgx1, dgx2, mine");
  CHECK(find_error(catalogue, Kind::platform, "none/mine.yaml") ==
        "error: no platform file 'none/mine.yaml'");
  CHECK(find_error({}, Kind::platform, "dgx2") ==
        "error: unknown platform 'dgx2'\n  no platforms/ and workloads/ found: set TRAINYARD_DATA to their "
        "folder");
}

TEST_CASE("TRAINYARD_DATA comes first and must hold a catalogue") {
  const Folder folder;
  folder.add("data/platforms/dgx2.yaml", "a: 1\n");
  folder.add("data/workloads/models/resnet50.yaml", "a: 1\n");
  REQUIRE(::setenv("TRAINYARD_DATA", (folder.path() / "data").c_str(), 1) == 0);
  CHECK(find_catalogue().roots.at(0) == folder.path() / "data");
  REQUIRE(::setenv("TRAINYARD_DATA", folder.path().c_str(), 1) == 0);
  CHECK_THROWS_AS(find_catalogue(), InputError);
  REQUIRE(::unsetenv("TRAINYARD_DATA") == 0);
  for (const fs::path& root : find_catalogue().roots) CHECK(fs::is_directory(root / "platforms"));
}
