// Profiles of torch.profiler, of all ages, whole and damaged.

#include "imports/read_kineto.hpp"

#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "io/gzip.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using testing::gpu_event;
using testing::host_event;
using testing::kineto_text;
using testing::ProfileFile;

namespace {

Profile read(const std::string& bytes, const KinetoOptions& options = {}) {
  return read_kineto(ProfileFile(bytes).path(), options);
}

std::string problem(const std::string& bytes) {
  const auto errors = errors_of([&] { (void)read(bytes); });
  return errors.empty() ? "" : errors.front().message;
}

int count(const Profile& profile, EventKind kind) {
  return static_cast<int>(std::ranges::count(profile.events, kind, &ProfileEvent::kind));
}

const std::string any_kernel = gpu_event("kernel", "k", 1, 1, 1);

}  // namespace

TEST_CASE("kinds, times, lanes and numbers of events are read, and what stands beside them") {
  const Profile profile = read(testing::three_steps());
  CHECK(profile.gpu == "NVIDIA A100-SXM4-40GB");
  CHECK(profile.rank == 0);
  CHECK(profile.ranks == 2);
  CHECK(profile.seen == 75);
  CHECK(count(profile, EventKind::kernel) == 18);
  CHECK(count(profile, EventKind::launch) == 18);
  CHECK(count(profile, EventKind::range) == 6);
  CHECK(std::ranges::is_sorted(profile.events, {}, &ProfileEvent::start));
  const auto& first = profile.events.front();
  CHECK(profile.texts[first.name] == "ProfilerStep#3");
  CHECK(first.start == 1'000'000);
  CHECK(first.end == 1'100'000);
  CHECK(profile.collectives.size() == 3);
  CHECK(profile.collectives.front().in_bytes == 272);
}

TEST_CASE("a compressed profile is the plain one, whatever its name and its members") {
  const std::string text = testing::three_steps();
  const Profile plain = read(text);
  const std::string half = text.substr(0, text.size() / 2);
  for (const std::string& bytes :
       {compressed_by_gzip(text), compressed_by_gzip(half) + compressed_by_gzip(text.substr(half.size()))}) {
    for (const bool one_thread : {false, true}) {
      const Profile profile = read_kineto(ProfileFile(bytes).path(), {.one_thread = one_thread});
      REQUIRE(profile.events.size() == plain.events.size());
      CHECK(profile.bytes == plain.bytes);
      for (std::size_t i = 0; i < plain.events.size(); ++i)
        CHECK(profile.events[i].start == plain.events[i].start);
    }
  }
}

TEST_CASE("a profile larger than the blocks in which it is read loses no event") {
  std::vector<std::string> events;
  for (int i = 0; i < 40'000; ++i)
    events.push_back(gpu_event("kernel", "kernel with a name", 10.0 * i, 5, i));
  const std::string text = kineto_text(events);
  REQUIRE(text.size() > 6'000'000);
  const Profile profile = read(text);
  REQUIRE(profile.events.size() == events.size());
  for (std::size_t i = 0; i < events.size(); ++i) CHECK(profile.events[i].correlation == i);
}

TEST_CASE("categories of 2021 have other names, and streams are words") {
  const std::string text = kineto_text(
      {R"({"ph": "X", "cat": "Operator", "name": "ProfilerStep#2", "pid": 5, "tid": "5", "ts": 10, "dur": 90, "args": {}})",
       R"({"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 5, "tid": "5", "ts": 11, "dur": 9, "args": {"External id": 2}})",
       R"({"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": "5", "ts": 12, "dur": 2, "args": {"correlation": 7}})",
       R"({"ph": "X", "cat": "Kernel", "name": "add", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 3, "args": {"correlation": 7}})",
       R"({"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 30, "dur": 3, "args": {}})"});
  const Profile profile = read(text);
  CHECK(count(profile, EventKind::range) == 1);
  CHECK(count(profile, EventKind::op) == 1);
  CHECK(count(profile, EventKind::launch) == 1);
  CHECK(count(profile, EventKind::kernel) == 1);
  CHECK(count(profile, EventKind::copy) == 1);
  CHECK(profile.events[2].start == 12'000);
}

TEST_CASE("names that are no valid text are mended, and numbers that are none are refused") {
  for (const std::string name :
       {R"(lambda "x")", R"(odd " quote)", "C:\\path", "tab\there", "caf\xe9", "\\"}) {
    CAPTURE(name);
    const Profile profile = read(kineto_text({host_event("cpu_op", name, 1, 2), any_kernel}));
    CHECK(profile.repaired == 1);
    REQUIRE(profile.events.size() == 2);
  }
  CHECK(
      problem(
          kineto_text(
              {R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": NaN, "dur": 1, "args": {}})"}))
          .find("'ts' of the event at byte") == 0);
  CHECK(
      problem(
          kineto_text(
              {R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": "soon", "args": {}})"}))
          .find("'dur' of the event at byte") == 0);
}

TEST_CASE("kernels between two names with a quote too many are kept") {
  const std::string odd = host_event("python_function", R"(odd " name)", 1, 2);
  const Profile profile =
      read(kineto_text({odd, any_kernel, gpu_event("kernel", "k", 5, 1, 2), odd, any_kernel}));
  CHECK(count(profile, EventKind::kernel) == 3);
  CHECK(profile.seen == 5);
}

TEST_CASE("an event that is no JSON is refused with its byte") {
  CHECK(problem(R"({"traceEvents": [{"a" "b"}]})") == "the event at byte 17 is no JSON");
}

TEST_CASE("categories that nobody needs and keys with escapes are read past, or read") {
  const Profile profile = read(kineto_text(
      {R"({"ph": "s", "cat": "async_cpu_to_gpu", "name": "launch", "pid": 1, "tid": 2, "ts": 3, "id": 4})",
       R"({"ph": "X", "cat": "of a tool that nobody knows", "name": "x", "ts": {}, "dur": []})",
       R"({"ph": "X", "cat": "kernel", "n\u0061me": "escaped", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {}})"}));
  REQUIRE(profile.events.size() == 1);
  CHECK(profile.seen == 3);
  CHECK(profile.texts[profile.events.front().name] == "escaped");
}

TEST_CASE("values that are no numbers do not matter where they are not used") {
  const Profile profile =
      read(kineto_text({gpu_event("kernel", "k", 1, 1, 1, 7, "\"memory bandwidth (GB/s)\": NaN"),
                        gpu_event("kernel", "k", 3, 1, 2, 7, "\"x\": -Infinity")}));
  CHECK(profile.events.size() == 2);
  CHECK(profile.repaired == 0);
}

TEST_CASE("numbers above 2^63 and times as text are read") {
  const Profile profile = read(kineto_text(
      {R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "12.5", "dur": "3", "args": {"correlation": 18446744073709551614}})"}));
  CHECK(profile.events.front().correlation == 18'446'744'073'709'551'614ULL);
  CHECK(profile.events.front().end == 15'500);
}

TEST_CASE("impossible durations are dropped and counted") {
  const Profile profile =
      read(kineto_text({gpu_event("kernel", "k", 1, -1, 1), gpu_event("kernel", "k", 1, 1e12, 2), any_kernel,
                        R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "args": {}})"}));
  CHECK(profile.events.size() == 1);
  CHECK(profile.impossible_time == 2);
  CHECK(profile.without_time == 1);
}

TEST_CASE("a file that is cut off is refused with the byte, or read as far as it goes") {
  const std::string text = testing::three_steps();
  const std::string part = text.substr(0, text.size() * 2 / 3);
  CHECK(problem(part).find("the file is cut off after byte ") == 0);
  const Profile profile = read(part, {.allow_truncated = true});
  CHECK(profile.is_cut_off);
  CHECK(profile.seen > 40);
  CHECK(profile.seen < 75);
  CHECK(profile.ranks == 2);
  const std::string small = compressed_by_gzip(text);
  CHECK(problem(small.substr(0, small.size() / 2)).find("the compressed file is cut off after ") == 0);
  CHECK(read(small.substr(0, small.size() - 12), {.allow_truncated = true}).seen > 30);
}

TEST_CASE("what is no profile is refused") {
  CHECK(problem(kineto_text({host_event("cpu_op", "aten::add", 1, 2)})) ==
        "the profile has no event of a GPU");
  CHECK(problem("{\"nodes\": []}").find("no array of events") == 0);
  CHECK(problem("").find("no array of events") == 0);
  CHECK(problem("[[1, 2], [3]]").find("the array of events has something that is no object") == 0);
  CHECK(problem("{\"traceEvents\": {\"a\": 1}}").find("no array of events") == 0);
  CHECK_THROWS_AS((void)read_kineto("/nonexistent/profile.json"), FileError);
}

TEST_CASE("an array alone is a profile too, and spaces do not matter") {
  const Profile profile = read("[" + any_kernel + "]");
  CHECK(profile.events.size() == 1);
  CHECK_FALSE(profile.rank);
  const Profile dense = read(
      R"({"distributedInfo":{"rank":3,"world_size":8},"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7}}]})");
  CHECK(dense.rank == 3);
  CHECK(dense.events.size() == 1);
}
