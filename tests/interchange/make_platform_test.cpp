// Platforms from layouts and answers, and their text.

#include "interchange/make_platform.hpp"

#include "interchange/inputs.hpp"
#include "interchange/known_gpus.hpp"
#include "interchange/questions.hpp"
#include "platform/connection.hpp"
#include "platform/link_ends.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <rapidcheck.h>
#include <set>
#include <sstream>
#include <tuple>

using namespace trainyard;
using testing::message_of;

namespace {

PlatformAnswers eight_h100() {
  PlatformAnswers answers = testing::answers("h100_sxm_80gb");
  answers.gpus = 8;
  answers.nvlink = 18;
  answers.nics = 8;
  answers.nic_rate = Bandwidth(50e9);
  answers.nodes = 4;
  return answers;
}

std::set<std::tuple<std::string, std::string, int>> links_of(const Platform& platform) {
  std::set<std::tuple<std::string, std::string, int>> links;
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    std::string one = platform.node[source(*edge, platform.node)].name;
    std::string other = platform.node[target(*edge, platform.node)].name;
    if (other < one) std::swap(one, other);
    links.emplace(one, other, platform.node[*edge].lanes);
  }
  return links;
}

}  // namespace

TEST_CASE("answers alone give a platform with sockets, NVSwitches, cards and a network") {
  const PlatformAnswers answers = eight_h100();
  const Platform platform = testing::written_and_read(layout_of(answers), answers);
  CHECK(platform.gpus.size() == 8);
  CHECK(platform.nics.size() == 8);
  CHECK(platform.cpus.size() == 2);
  CHECK(connection(platform, platform.gpus[0], platform.gpus[7]) == "NV18");
  CHECK(platform.fabric.nic.value == Bandwidth(50e9));
}

TEST_CASE("xGMI joins each pair of AMD's GPUs on a board") {
  PlatformAnswers answers = eight_h100();
  answers.gpu = "mi300x_192gb";
  answers.nvlink = {};
  const Platform platform = testing::written_and_read(layout_of(answers), answers);
  int links = 0;
  const auto [first, last] = edges(platform.node);
  for (auto edge = first; edge != last; ++edge) {
    if (platform.node[*edge].kind != LinkKind::xgmi) continue;
    CHECK(platform.node[*edge].bandwidth.value == Bandwidth(64e9));
    ++links;
  }
  CHECK(links == 28);
}

TEST_CASE("every figure of a written platform states its origin") {
  const PlatformAnswers answers = eight_h100();
  const Platform platform = testing::written_and_read(layout_of(answers), answers);
  for (auto [edge, end] = edges(platform.node); edge != end; ++edge) {
    const Link& link = platform.node[*edge];
    CHECK(link.bandwidth.provenance != Provenance::unstated);
    CHECK(link.effective.provenance != Provenance::unstated);
    CHECK(link.latency.provenance == Provenance::assumed);
  }
  CHECK(platform.fabric.latency.provenance == Provenance::assumed);
}

TEST_CASE("answers that contradict a file, or lack what others need, are errors with a hint") {
  PlatformAnswers answers = testing::answers("a6000");
  const NodeLayout pairs = read_node({testing::input(testing::two_pairs)});
  answers.nics = 5;
  CHECK(message_of([&] { make_platform(pairs, answers); }).find("--nics 5") != std::string::npos);
  answers.nics.reset();
  answers.nodes = 2;
  CHECK(message_of([&] {
          make_platform(read_node({testing::input(testing::equal_matrix(2, "PIX"))}), answers);
        }).find("2 nodes need network cards") != std::string::npos);
  PlatformAnswers unknown = testing::answers("mine.yaml");
  CHECK(message_of([&] { make_platform(pairs, unknown); }).find("--nvlink-kind") != std::string::npos);
  unknown.nvlink_kind = LinkKind::nvlink3;
  CHECK_FALSE(make_platform(pairs, unknown).file.node.links.empty());
}

TEST_CASE("boards without peer-to-peer access copy through host memory") {
  PlatformAnswers answers = testing::answers("rtx3090");
  answers.gpus = 4;
  const Platform platform = testing::written_and_read(layout_of(answers), answers);
  CHECK_FALSE(platform.has_peer_to_peer);
  CHECK(platform.staged.provenance == Provenance::assumed);
}

TEST_CASE("any links come back from their grouped entries") {
  CHECK(rc::check([] {
    const int gpus = *rc::gen::inRange(2, 9);
    const int others = *rc::gen::inRange(1, 5);
    std::vector<NodeLink> links;
    std::set<std::tuple<std::string, std::string, int>> expected;
    const auto add = [&](DeviceKind kind, int one, int other, int lanes) {
      NodeLink link{DeviceKind::gpu, kind, one, other, {}};
      link.figures.kind = kind == DeviceKind::gpu ? LinkKind::nvlink3 : LinkKind::pcie4;
      link.figures.lanes = lanes;
      link.figures.bandwidth.value = Bandwidth(1e9 * lanes);
      link.figures.latency.value = Seconds(1e-6);
      links.push_back(link);
      std::string a = "gpu" + std::to_string(one);
      std::string b = std::string(config::name_of(kind)) + std::to_string(other);
      if (b < a) std::swap(a, b);
      expected.emplace(a, b, lanes);
    };
    for (int i = 0; i < gpus; ++i) {
      for (int j = i + 1; j < gpus; ++j) {
        if (const int lanes = *rc::gen::inRange(0, 4); lanes > 0) add(DeviceKind::gpu, i, j, lanes);
      }
      add(DeviceKind::pcie_switch, i, *rc::gen::inRange(0, others), 16);
    }
    PlatformDraft draft;
    draft.file.name = "mine";
    draft.file.node.gpus = GpusFile{gpus, "t4"};
    draft.file.node.devices.pcie_switch.count = others;
    draft.file.node.links = grouped(links);
    const Platform platform = load_platform(config::parse("mine.yaml", platform_text(draft)));
    RC_ASSERT(links_of(platform) == expected);
  }));
}

TEST_CASE("quotes and line ends in names of devices stay inside the text") {
  PlatformAnswers answers = testing::answers("t4");
  answers.gpus = 1;
  NodeLayout layout = layout_of(answers);
  layout.products = {"A \"GPU\" of\nmine: {x}"};
  layout.cpu_model = "CPU \\ \"7\"";
  layout.warnings = {"a warning # with\nlines"};
  CHECK(testing::written_and_read(layout, answers).gpus.size() == 1);
}

TEST_CASE("GPUs are known by product or PCI device, and each has a shipped profile or none") {
  CHECK(known_gpu("NVIDIA A100-SXM4-80GB", "")->profile == "a100_sxm4_80gb");
  CHECK(known_gpu("Tesla V100-SXM2-16GB", "")->profile == "v100_sxm2_16gb");
  CHECK(known_gpu("NVIDIA GeForce RTX 3090", "")->profile == "rtx3090");
  CHECK(known_gpu("NVIDIA GeForce RTX 3090 Ti", "") == nullptr);
  CHECK(known_gpu("", "10de:20b5")->profile == "a100_pcie_80gb");
  CHECK(known_gpu("", "10de:ffff") == nullptr);
  for (const KnownGpu& gpu : known_gpus()) {
    if (gpu.profile.empty()) continue;
    CAPTURE(gpu.profile);
    CHECK(std::filesystem::exists(std::string(TRAINYARD_SOURCE_DIR "/platforms/gpus/") +
                                  std::string(gpu.profile) + ".yaml"));
  }
}

TEST_CASE("questions have defaults, ask again after a wrong answer, and need an answer each") {
  const auto is_profile = [](const std::string& name) { return name == "h100_sxm_80gb"; };
  PlatformAnswers answers;
  GpuAnswers gpu;
  std::istringstream in("many\n4\nh100_sxm_80gb\n18\n2\n\n400 Gbps\n");
  std::ostringstream out;
  ask(in, out, false, is_profile, answers, gpu);
  CHECK(answers.gpus == 4);
  CHECK(answers.gpu == "h100_sxm_80gb");
  CHECK(answers.nvlink == 18);
  CHECK(answers.nodes == 2);
  CHECK(answers.nics == 1);
  CHECK(answers.nic_rate == Bandwidth(50e9));
  CHECK(out.str().find("a whole number from 1 to 256") != std::string::npos);

  PlatformAnswers own;
  GpuAnswers sheet;
  std::istringstream other("2\nRTX 4080\n16 GB\n97.5 TFLOPS\n97.5 TFLOP/s\n717 GB/s\n0\n\n\n");
  ask(other, out, false, is_profile, own, sheet);
  CHECK(sheet.profile == "RTX 4080");
  CHECK(sheet.memory == Bytes(16e9));
  REQUIRE(sheet.peaks.size() == 1);
  CHECK(sheet.peaks[0].first == "fp16");
  CHECK(sheet.bandwidth == Bandwidth(717e9));
  CHECK(own.nics == 0);

  std::istringstream ends("8\n");
  PlatformAnswers few;
  GpuAnswers none;
  CHECK(message_of([&] { ask(ends, out, false, is_profile, few, none); }).find("answers end") !=
        std::string::npos);
}

TEST_CASE("a peak names its data type, or is that of fp16") {
  CHECK(peak_in("165 TFLOP/s") == std::pair<std::string, FlopRate>{"fp16", FlopRate(165e12)});
  CHECK(peak_in("fp32=82.6 TFLOP/s") == std::pair<std::string, FlopRate>{"fp32", FlopRate(82.6e12)});
  CHECK(message_of([] { peak_in("int8=1 TFLOP/s"); }).find("fp32, tf32") != std::string::npos);
  CHECK_FALSE(message_of([] { peak_in("165"); }).empty());
  CHECK_FALSE(message_of([] { peak_in("1 FLOP/s"); }).empty());
}

TEST_CASE("whole GB of a data sheet are GiB; other sizes stay") {
  CHECK(as_sold(Bytes(24e9)) == Bytes(24 * 1073741824.0));
  CHECK(as_sold(Bytes(24 * 1073741824.0)) == Bytes(24 * 1073741824.0));
  CHECK(as_sold(Bytes(24564 * 1048576.0)) == Bytes(24564 * 1048576.0));
}
