// Exports of Nsight Systems, whole and damaged.

#include "imports/read_nsys.hpp"

#include "errors_of.hpp"
#include "imports/nsys_file.hpp"
#include "imports/profile_figures.hpp"
#include "imports/profile_trace.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <random>
#include <string>

using namespace trainyard;
using testing::nsys_report;
using testing::NsysFile;

namespace {

Profile read_report(const std::string& more = {}, const NsysOptions& options = {}) {
  return read_nsys(NsysFile(nsys_report() + more).path(), options);
}

std::string report_problem(const std::string& more, const NsysOptions& options = {}) {
  const auto errors = errors_of([&] { (void)read_report(more, options); });
  return errors.empty() ? "" : errors.front().message;
}

int count_events(const Profile& profile, EventKind kind) {
  return static_cast<int>(std::ranges::count(profile.events, kind, &ProfileEvent::kind));
}

ImportedTrace imported_steps(const Profile& profile, const std::string& steps) {
  return trace_of(profile, join_launches(profile, steps));
}

}  // namespace

TEST_CASE("kernels, calls, copies and ranges of an export of Nsight Systems are a profile") {
  const Profile profile = read_report();
  CHECK(count_events(profile, EventKind::kernel) == 18);
  CHECK(count_events(profile, EventKind::copy) == 3);
  CHECK(count_events(profile, EventKind::launch) == 21);
  CHECK(count_events(profile, EventKind::range) == 6);
  CHECK(profile.gpu == "NVIDIA A100-SXM4-40GB");
  CHECK(profile.schema == "3.25.0");
  CHECK(profile.warnings.empty());
  CHECK(profile.bytes > 4096);
  CHECK(profile.device.sms == 108);
  CHECK(profile.device.compute_capability == doctest::Approx(8.0));
  CHECK(profile.seen == 21 + 21 + 36);
  CHECK(std::ranges::is_sorted(profile.events, {}, &ProfileEvent::start));
}

TEST_CASE(
    "the step of an export has passes, shapes, gradients and the collective that NCCL's payload sizes") {
  const Profile profile = read_report();
  const ImportedTrace step = imported_steps(profile, "step");
  CHECK(step.steps == std::vector<int>{3, 4, 5});
  CHECK(step.parts.period == 3'000'000);
  CHECK(step.parts.computing == 1'095'000);
  CHECK(step.parts.exposed == 400'000);
  CHECK(step.parts.copying == 100'000);
  REQUIRE(step.trace.ops.size() == 5);
  CHECK(step.trace.ops[0].kind == OpKind::gemm);
  CHECK(step.trace.ops[0].flops.si() == 2.0 * 512 * 4096 * 4096);
  CHECK(step.trace.ops[1].kind == OpKind::elementwise);
  CHECK(step.trace.ops[2].phase == Phase::backward);
  CHECK(step.trace.ops[2].layer == step.trace.ops[1].layer);  // by the sequence number
  CHECK(step.trace.ops[3].layer == step.trace.ops[0].layer);
  CHECK(step.trace.ops[4].kind == OpKind::optimizer);
  CHECK(step.tensors == 2);
  CHECK(step.collectives == 1);
  REQUIRE(step.trace.ops[3].communications.size() == 1);
  CHECK(step.trace.ops[3].communications[0].operation == Operation::all_reduce);
  CHECK(step.trace.ops[3].communications[0].size.si() == 67'125'248);
}

TEST_CASE("the name of a step range is exact, or has numbers behind it") {
  const Profile profile = read_report();
  CHECK(join_launches(profile, std::string("step 4")).steps.size() == 1);
  CHECK(join_launches(profile, std::string("step")).steps.at(2).number == 5);
  CHECK(errors_of([&] { (void)join_launches(profile, std::string("ste")); }).size() == 1);
}

TEST_CASE("a collective is without size where the payload is missing, or a group has several calls") {
  CHECK(imported_steps(read_report("UPDATE NVTX_EVENTS SET jsonText = NULL;"), "step").collectives == 0);
  CHECK(
      imported_steps(read_report("UPDATE NVTX_EVENTS SET jsonText = '{' WHERE jsonText IS NOT NULL;"), "step")
          .collectives == 0);
  const std::string group =
      "UPDATE NVTX_EVENTS SET start = start - 10000, end = start - 5000 WHERE domainId = 1;"
      "INSERT INTO StringIds VALUES (20, 'ncclGroupStart'), (21, 'ncclGroupEnd');"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) SELECT start - 100, start - 50, "
      "59, 20, "
      "globalTid FROM NVTX_EVENTS WHERE domainId = 1;"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) SELECT end + 100, end + 40000, 59, "
      "21, "
      "globalTid FROM NVTX_EVENTS WHERE domainId = 1;";
  CHECK(imported_steps(read_report(group), "step").collectives == 1);
  CHECK(
      imported_steps(
          read_report(group +
                      "INSERT INTO NVTX_EVENTS SELECT start + 1000, end + 1000, eventType, text, globalTid, "
                      "textId, domainId, jsonText FROM NVTX_EVENTS WHERE domainId = 1;"),
          "step")
          .collectives == 0);
}

TEST_CASE("NCCL says a rank's part of a reduce-scatter: the whole is known with the number of ranks") {
  const std::string scatter =
      "UPDATE StringIds SET value = 'ncclReduceScatter' WHERE id = 10;"
      "UPDATE StringIds SET value = 'ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()' WHERE id = 8;";
  CHECK(imported_steps(read_report(scatter), "step").collectives == 0);
  const ImportedTrace known = imported_steps(read_report(scatter, {.ranks = 4}), "step");
  REQUIRE(known.collectives == 1);
  CHECK(known.trace.ops[3].communications[0].size.si() == 4 * 67'125'248);
}

TEST_CASE("tables that were not recorded are empty") {
  const Profile profile = read_report(
      "DROP TABLE NVTX_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY;"
      "DROP TABLE TARGET_INFO_GPU; DROP TABLE META_DATA_EXPORT; DROP TABLE StringIds;");
  CHECK(profile.events.size() == 18);
  CHECK(profile.gpu.empty());
  const ImportedTrace whole = trace_of(profile, join_launches(profile));
  CHECK(whole.trace.ops.size() == 1);
  CHECK(whole.parts.computing == 3 * 1'495'000);  // without names a collective is a kernel as any other
  CHECK(report_problem("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;") == "the export has no kernels");
  CHECK(report_problem("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL;") == "the export has no kernels");
}

TEST_CASE("kernels of a CUDA graph belong to its launch, and a graph traced as a whole is one kernel") {
  const std::string graph =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
      "INTEGER, "
      "correlationId INTEGER, globalPid INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE SELECT start, end, deviceId, streamId, correlationId, "
      "globalPid "
      "FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE demangledName = 4;"
      "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE demangledName = 4;";
  const ImportedTrace whole = imported_steps(read_report(graph), "step");
  CHECK(whole.trace.ops.size() == 5);
  CHECK(whole.parts.computing == 1'095'000);
  const Profile nodes =
      read_report("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = correlationId / 100 * 100 + 1;");
  CHECK(imported_steps(nodes, "step").parts.computing == 1'095'000);
}

TEST_CASE("of several GPUs or processes one is chosen, and numbers of launches are a process's own") {
  const std::string other =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 10, end + 20, 1, streamId, correlationId, 144 "
      "<< 24, "
      "demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start + 500000, end + 500000, globalTid + (1 << 24), "
      "correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME;";
  CHECK(report_problem(other) ==
        "the profile has kernels of 2 GPUs or processes: device 0 (process 143), device 1 (process "
        "144)");
  const Profile first = read_report(other, {.device = 0});
  CHECK(first.other_devices == 18);
  CHECK(imported_steps(first, "step").parts.computing == 1'095'000);
  CHECK(count_events(read_report(other, {.device = 1}), EventKind::kernel) == 18);
  CHECK(first.other_processes == 21);
  const auto left_out = imported_steps(first, "step").left_out;
  CHECK(std::ranges::any_of(left_out, [](const LeftOut& one) {
    return one.count == 21 && one.what == std::string("calls and ranges of other processes");
  }));
  CHECK(count_events(read_report(other, {.process = 144}), EventKind::launch) == 21);
  CHECK(report_problem(other, {.device = 2}) == "no kernel ran there");
  const std::string shared = other + "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 0;";
  CHECK(report_problem(shared, {.device = 0}).find("kernels of 2 GPUs or processes") != std::string::npos);
  CHECK(count_events(read_report(shared, {.device = 0, .process = 143}), EventKind::kernel) == 18);
}

TEST_CASE("ranges that another thread may end are steps, but hold no launches") {
  const Profile profile =
      read_report("UPDATE NVTX_EVENTS SET eventType = 60 WHERE text LIKE 'step %' OR text LIKE 'Opt%';");
  const ImportedTrace step = imported_steps(profile, "step");
  CHECK(step.steps.size() == 3);
  CHECK(std::ranges::none_of(step.trace.ops, [](const Op& op) { return op.kind == OpKind::optimizer; }));
}

TEST_CASE("values of another type are refused with their row") {
  CHECK(report_problem("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 3;") ==
        "'start' in row 3 of CUPTI_ACTIVITY_KIND_KERNEL is no whole number");
  CHECK(report_problem("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 1.5 WHERE rowid = 2;") ==
        "'correlationId' in row 2 of CUPTI_ACTIVITY_KIND_RUNTIME is no whole number");
  CHECK(report_problem("UPDATE NVTX_EVENTS SET text = x'0102' WHERE rowid = 1;") ==
        "'text' in row 1 of NVTX_EVENTS is no text");
  CHECK(report_problem("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN deviceId TO gpu;") ==
        "table CUPTI_ACTIVITY_KIND_KERNEL has no column deviceId");
  CHECK(report_problem("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k;"
                       "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k;") ==
        "the export has no kernels");
}

TEST_CASE("impossible times are dropped and counted, names that are no text are mended") {
  const Profile profile = read_report(
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE rowid = 1;"
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -9223372036854775808 WHERE rowid = 2;"
      "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807 WHERE rowid = 3;"
      "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid = 5;"
      "UPDATE StringIds SET value = CAST(x'61ff0a62' AS TEXT) WHERE id = 5;");
  CHECK(profile.impossible_time == 3);
  CHECK(profile.without_time == 1);
  CHECK(profile.repaired == 3);
  CHECK(std::ranges::any_of(profile.events,
                            [&](const ProfileEvent& one) { return profile.texts[one.name] == "a? b"; }));
}

TEST_CASE("the schema of an export may stand in a table of another name, and one that is not known is told") {
  const Profile older = read_report(
      "DROP TABLE META_DATA_EXPORT; CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);"
      "INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.7.1');");
  CHECK(older.schema == "2.7.1");
  CHECK(older.warnings.empty());
  const Profile newer = read_report("UPDATE META_DATA_EXPORT SET value = '4.0';");
  REQUIRE(newer.warnings.size() == 1);
  CHECK(newer.warnings[0] == "the export has schema '4.0', not 2 or 3: columns may mean something else");
  CHECK(imported_steps(newer, "step").warnings.at(0) == newer.warnings[0]);
  CHECK(read_report("DELETE FROM META_DATA_EXPORT;").schema.empty());
}

TEST_CASE("copies from and to arrays of the GPU are known by their sides") {
  const auto names = [](int kind) {
    const Profile profile =
        read_report("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = " + std::to_string(kind) + ";");
    const auto copy = std::ranges::find(profile.events, EventKind::copy, &ProfileEvent::kind);
    return std::string(profile.texts[copy->name]);
  };
  CHECK(names(1) == "Memcpy HtoD");
  CHECK(names(3) == "Memcpy HtoD");
  CHECK(names(4) == "Memcpy DtoH");
  for (const int kind : {5, 6, 7, 8}) CHECK(names(kind) == "Memcpy DtoD");
}

TEST_CASE("a long name without any valid byte is mended at once, and once for all of its events") {
  const Profile profile = read_report(
      "UPDATE StringIds SET value = CAST(replace(hex(zeroblob(30000)), '00', x'ff') AS TEXT) WHERE id = 4;");
  CHECK(profile.repaired == 3);
  CHECK(std::ranges::any_of(profile.events, [&](const ProfileEvent& one) {
    return profile.texts[one.name] == std::string(30'000, '?');
  }));
}

TEST_CASE("a table whose pages stand in it several times is damaged, not endless") {
  const NsysFile whole(
      "PRAGMA page_size = 512;" + nsys_report() +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT k.start, k.end, k.deviceId, k.streamId, "
      "k.correlationId, k.globalPid, k.demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL AS k, "
      "CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL;");
  std::ifstream in(whole.path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  constexpr std::size_t page = 512;
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) * 256 +
           static_cast<unsigned char>(bytes[at + 1]);
  };
  // https://sqlite.org/fileformat2.html: inner pages of tables begin with a 5, and their cells with the
  // number of a page
  for (std::size_t at = page; at + page <= bytes.size(); at += page) {
    if (bytes[at] != 5) continue;
    const std::size_t cells = number(at + 3);
    for (std::size_t i = 1; i < cells; ++i)
      bytes.replace(at + number(at + 12 + 2 * i), 4, bytes.substr(at + number(at + 12), 4));
  }
  const TemporaryFolder folder;
  const std::string path = (folder.path / "damaged.sqlite").string();
  std::ofstream(path, std::ios::binary) << bytes;
  const auto errors = errors_of([&] { (void)read_nsys(path); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().message ==
        "the database is damaged: table CUPTI_ACTIVITY_KIND_KERNEL has rows that are out of order");
}

TEST_CASE("what is no database is refused, with the command that exports a report") {
  const TemporaryFolder folder;
  const std::string path = (folder.path / "run.nsys-rep").string();
  std::ofstream(path) << "anything";
  const auto errors = errors_of([&] { (void)read_nsys(path); });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().hint.find("nsys export --type sqlite") != std::string::npos);
  CHECK_THROWS_AS((void)read_nsys((folder.path / "none").string()), FileError);
  std::ofstream(path) << "\x1f\x8b\x08";
  CHECK(errors_of([&] { (void)read_nsys(path); }).front().message == "the database is compressed by gzip");
}

TEST_CASE("a damaged database is an error or a profile, never anything else") {
  const NsysFile whole(nsys_report());
  std::ifstream in(whole.path(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const TemporaryFolder folder;
  const std::string path = (folder.path / "damaged.sqlite").string();
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    for (int k = 0; k < 8 && !damaged.empty(); ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    try {
      const Profile profile = read_nsys(path);
      (void)trace_of(profile, join_launches(profile));
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  // nothing is written beside a file that is only read
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("the account of an export has the kernels of all GPUs, whichever becomes the trace") {
  const std::string second =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, "
      "demangledName) SELECT start + 5, end + 10, 1, streamId, correlationId, globalPid, "
      "demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL;";
  CHECK(report_problem(second).starts_with("the profile has kernels of 2 GPUs"));
  for (const int device : {0, 1}) {
    const Profile profile = read_report(second, {.device = device});
    REQUIRE(profile.gpus.size() == 2);
    for (const ProfiledGpu& one : profile.gpus) {
      CHECK(one.kernels == 18);
      CHECK(one.communication_kernels == 3);
      CHECK(one.is_read == (one.device == device));
    }
    CHECK(profile.gpus[1].kernel_time == profile.gpus[0].kernel_time + 18 * 5);
    CHECK(count_events(profile, EventKind::kernel) == 18);
  }
}

TEST_CASE("NVTX events that are no ranges are counted by kind") {
  const auto added = [](int type) {
    return fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, text) VALUES (1, NULL, {}, 'x');",
                       type);
  };
  const Profile profile = read_report(added(34) + added(34) + added(75) + added(39) + added(77));
  CHECK(profile.unused ==
        std::map<std::string, std::uint64_t>{{"NVTX marks", 2},
                                             {"NVTX names of threads, categories and domains", 2},
                                             {"NVTX events of other types", 1}});
  const ImportedTrace step = imported_steps(profile, "step");
  const auto marks = std::ranges::find(step.left_out, "NVTX marks", &LeftOut::what);
  REQUIRE(marks != step.left_out.end());
  CHECK(marks->count == 2);
}
