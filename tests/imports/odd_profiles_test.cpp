// Profiles with several processes or devices, events of odd types, and damaged files.

#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "imports/nccl_tests.hpp"
#include "imports/predictable_trace.hpp"
#include "imports/profile_trace.hpp"
#include "imports/rank_collectives.hpp"
#include "imports/read_kineto.hpp"

#include <ctime>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace trainyard;
using testing::gpu_event;
using testing::host_event;
using testing::ProfileFile;

namespace {

Profile read_text(const std::string& text, const KinetoOptions& options = {}) {
  return read_kineto(ProfileFile(text).path(), options);
}

/// The same event of another process, or of another device.
std::string with(std::string event, std::string_view old, std::string_view other) {
  for (std::size_t at = event.find(old); at != std::string::npos; at = event.find(old, at + other.size()))
    event.replace(at, old.size(), other);
  return event;
}

std::string on_device(int device, const std::string& event) {
  return with(with(event, "\"pid\": 0", fmt::format("\"pid\": {}", device)), "\"device\": 0",
              fmt::format("\"device\": {}", device));
}

}  // namespace

static_assert(!std::is_copy_constructible_v<TextPool> && std::is_move_constructible_v<TextPool>);

TEST_CASE("a correlation number of two processes is that of the process that works on the device") {
  // process 9 works on device 0; process 8 launches later with the same number, on no device of the file
  std::vector<std::string> events{
      host_event("cpu_op", "aten::mine", 10, 5),
      host_event("cuda_runtime", "cudaLaunchKernel", 11, 1, "\"correlation\": 7"),
      host_event("cuda_runtime", "cudaLaunchKernel", 20, 1, "\"correlation\": 8"),
      with(host_event("cpu_op", "aten::other", 12, 5), "\"pid\": 9", "\"pid\": 8"),
      with(host_event("cuda_runtime", "cudaLaunchKernel", 13, 1, "\"correlation\": 7"), "\"pid\": 9",
           "\"pid\": 8"),
      gpu_event("kernel", "a", 30, 5, 7),
      gpu_event("kernel", "b", 40, 5, 8)};
  const Profile profile = read_text(testing::kineto_text(events));
  const ProfileWork work = join_launches(profile);
  REQUIRE(work.work.size() == 2);
  REQUIRE(work.work.front().op != no_event);
  CHECK(profile.texts[profile.events[work.work.front().op].name] == "aten::mine");
}

TEST_CASE("kernels of several devices are refused, or one of the devices is chosen") {
  const std::string text =
      testing::kineto_text({gpu_event("kernel", "a", 1, 2, 1), gpu_event("kernel", "b", 3, 2, 2),
                            on_device(3, gpu_event("kernel", "c", 5, 2, 3))});
  const auto errors = errors_of([&] { (void)read_text(text); });
  REQUIRE_FALSE(errors.empty());
  CHECK(errors.front().message == "the profile has kernels of 2 devices: '0', '3'");
  CHECK(errors.front().hint == "choose one with --device N");
  const Profile chosen = read_text(text, {.device = 3});
  CHECK(chosen.events.size() == 1);
  CHECK(chosen.other_devices == 2);
  CHECK(errors_of([&] { (void)read_text(text, {.device = 1}); }).front().message ==
        "no kernel ran on device 1");
}

TEST_CASE("events of odd types are counted and do not refuse the file") {
  const std::string kernel = gpu_event("kernel", "k", 1, 2, 1);
  const Profile profile = read_text(testing::kineto_text(
      {kernel, with(kernel, "\"name\": \"k\"", "\"name\": null"),
       with(kernel, "\"name\": \"k\"", "\"name\": 3"), with(kernel, "\"cat\": \"kernel\"", "\"cat\": [1]"),
       with(kernel, "\"ts\": 1.000", "\"ts\": {\"a\": 1}"), with(kernel, "\"dur\": 2.000", "\"dur\": null"),
       with(kernel, "\"stream\": 7", "\"stream\": {\"x\": []}"),
       with(kernel, "\"correlation\": 1", "\"correlation\": [1]")}));
  CHECK(profile.events.size() == 3);
  CHECK(profile.odd == 4);
  CHECK(profile.without_time == 1);
}

TEST_CASE("DeepEP's kernels are an exchange of unknown size, not computing") {
  std::vector<std::string> events = testing::step_of_two_layers(3, 1000, 100);
  const auto dispatch =
      testing::kernel("void deep_ep::internode::dispatch<false, 8>(int4*)", 1004, 1085, 9, 900);
  events.insert(events.end(), dispatch.begin(), dispatch.end());
  const Profile profile = read_text(testing::kineto_text(events));
  const ImportedTrace its = trace_of(profile, join_launches(profile));
  CHECK(its.parts.computing == 44'000);
  REQUIRE(its.left_out.size() == 1);
  CHECK(its.left_out.front().count == 1);
  CHECK(its.left_out.front().time == 9'000);
  CHECK(its.left_out.front().what.find("DeepEP (all_to_all of unknown size)") != std::string::npos);
}

TEST_CASE("an op is timed by those of its runs that had no collective beside them") {
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const double at = 1000 + 200.0 * i;
    auto one = testing::step_of_two_layers(i + 3, at, 100 * (i + 1));
    // in two of the steps a second collective runs beside the update
    if (i > 0) {
      const auto beside = testing::kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 50, at + 68, 9,
                                          100 * (i + 1) + 50);
      one.insert(one.end(), beside.begin(), beside.end());
      one = [&] {
        for (std::string& event : one)
          event = with(event, fmt::format("\"ts\": {:.3f}, \"dur\": 4.000", at + 70),
                       fmt::format("\"ts\": {:.3f}, \"dur\": 6.000", at + 70));
        return one;
      }();
    }
    events.insert(events.end(), one.begin(), one.end());
  }
  const Profile profile = read_text(testing::kineto_text(events));
  const ImportedTrace its = trace_of(profile, join_launches(profile));
  CHECK(its.trace.ops.back().kind == OpKind::optimizer);
  CHECK(its.trace.ops.back().duration->si() == doctest::Approx(4e-6));
  CHECK(its.ops_timed_alone == 1);
  CHECK(its.slowed_ops == 0);
}

TEST_CASE("ten times as many events take about ten times as long, whatever they share") {
  // one number for all launches, ranges inside each other, and every step with a collective
  const auto seconds = [](int count) {
    std::vector<std::string> events{host_event("user_annotation", "ProfilerStep#1", 0, 1e8)};
    for (int i = 0; i < count; ++i) {
      const double at = 10.0 + 10.0 * i;
      events.push_back(host_event("cpu_op", "aten::nested", 1.0 + 0.001 * i, 9e7));
      const auto one = testing::kernel(i % 2 == 0 ? "k" : "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at,
                                       at + 2, 5, i % 3 == 0 ? 1 : i + 2);
      events.insert(events.end(), one.begin(), one.end());
    }
    const ProfileFile file(testing::kineto_text(events));
    const std::clock_t begin = std::clock();  // CPU time: the computer may be busy
    const Profile profile = read_kineto(file.path());
    (void)trace_of(profile, join_launches(profile));
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double small = seconds(2'000);
  const double large = seconds(20'000);
  CAPTURE(small);
  CHECK(large < 40 * small + 0.2);  // 100 times if anything is quadratic
}

TEST_CASE("damaged profiles and logs are refused or read, never worse") {
  const std::string profile_text = testing::three_steps();
  std::string log = "NCCL version 2.19.3+cuda12.3\n";
  for (int i = 0; i < 8; ++i)
    log += fmt::format("#  Rank {:2} Group  0 Pid 12 on node0 device {} [0x0{}] NVIDIA A100-SXM4-80GB\n", i,
                       i, i);
  log +=
      "#                                                              out-of-place                       "
      "in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw "
      "  "
      "busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " (GB/s)\n";
  for (int i = 0; i < 6; ++i)
    log +=
        "  1073741824     268435456     float     sum      -1   8000.0  134.22  234.88      0   8010.0  "
        "134.05  "
        "234.59      0\n";
  log += "# Avg bus bandwidth    : 234.8\n";
  CHECK(read_nccl_tests(plain_input("log", log)).tables.size() == 1);
  std::mt19937 random(20260101);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random()) % limit; };
  const auto damaged = [&](std::string text) {
    for (std::size_t times = 1 + below(3); times > 0; --times) {
      const std::size_t at = below(text.size());
      const std::size_t length = 1 + below(80);
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(random() & 0xffU);
          break;
        case 1:
          text[at] = "{}[]\",:\\-e9 "[below(12)];
          break;
        case 2:
          text.resize(std::max<std::size_t>(at, 1));
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), length));
          break;
        default:
          text.erase(at, length);
      }
      if (text.empty()) text = " ";
    }
    return text;
  };
  int refused = 0;
  int read = 0;
  const auto attempt = [&](auto action) {
    try {
      action();
      ++read;
    } catch (const InputError&) {
      ++refused;
    }
  };
  for (int i = 0; i < 1200; ++i) {
    const ProfileFile file(damaged(profile_text));
    attempt([&] {
      const Profile profile = read_kineto(file.path(), {.allow_truncated = i % 2 == 0});
      const ProfileWork work = join_launches(profile);
      (void)rank_profile_of(profile, work);
      const ImportedTrace trace = trace_of(profile, work, {.host_gaps = i % 3 == 0});
      (void)predictable_trace(profile, trace,
                              matrix_format_of(profile, trace).precision.value_or(Precision::fp32));
    });
  }
  for (int i = 0; i < 3000; ++i) attempt([&] { (void)read_nccl_tests(plain_input("log", damaged(log))); });
  CHECK(refused > 300);
  CHECK(read > 300);
}
