#include "compute/gpu_profile.hpp"

#include "compute/op_time.hpp"
#include "compute/tiny_gpu.hpp"
#include "errors_of.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

GpuProfile load_tiny(const std::string& text) { return load_gpu_profile(config::parse("tiny.yaml", text)); }

}  // namespace

TEST_CASE("the shipped V100-SXM3 profile has its published figures and DeepBench's kernels") {
  const GpuProfile gpu =
      load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/v100_sxm3_32gb.yaml"));
  CHECK(gpu.name == "v100_sxm3_32gb");
  CHECK(gpu.memory.capacity.value == Bytes(32.0 * 1024 * 1024 * 1024));
  CHECK(gpu.memory.bandwidth.value == Bandwidth(900e9));
  CHECK(gpu.matrix.fp32.peak.value == FlopRate(15.7e12));
  CHECK(gpu.matrix.fp32.peak.provenance == Provenance::assumed);
  REQUIRE(gpu.matrix.fp16);
  CHECK(gpu.matrix.fp16->peak.value == FlopRate(125e12));
  CHECK_FALSE(gpu.matrix.tf32);
  CHECK_FALSE(gpu.matrix.bf16);
  CHECK(gpu.kernel_table.convs.size() == 520);
  CHECK(gpu.kernel_table.gemms.size() == 320);
}

TEST_CASE("every figure of the shipped profile says where it comes from") {
  const GpuProfile gpu =
      load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/v100_sxm3_32gb.yaml"));
  const auto states = [](const auto& sourced) {
    return sourced.provenance != Provenance::unstated && !sourced.source.empty();
  };
  CHECK(states(gpu.compute_capability));
  CHECK(states(gpu.memory.capacity));
  CHECK(states(gpu.memory.bandwidth));
  CHECK(states(gpu.tdp));
  for (const MatrixRates* rates : {&gpu.matrix.fp32, &*gpu.matrix.fp16}) {
    CHECK(states(rates->peak));
    CHECK(states(*rates->gemm));
    CHECK(states(rates->conv->forward));
    CHECK(states(rates->conv->dgrad));
    CHECK(states(rates->conv->wgrad));
  }
  CHECK(states(gpu.vector.elementwise));
  CHECK(states(gpu.vector.batch_norm));
  CHECK(states(gpu.vector.pooling));
  CHECK(states(gpu.vector.softmax));
  CHECK(states(gpu.vector.optimizer));
  CHECK(states(gpu.vector.t0));
  CHECK(states(gpu.roofline));
}

TEST_CASE("absurd figures and tables in other folders are errors where they are written") {
  const auto with = [](const char* from, const char* to) { return replaced(tiny_gpu, from, to); };
  const char* const capacity = "capacity: 16 GB";
  check_errors({{with("peak: 10 TFLOP/s", "peak: 10 FLOP/s"), "matrix.fp32.peak"},
                {with("peak: 10 TFLOP/s", "peak: 1000 PFLOP/s"), "matrix.fp32.peak"},
                {with("peak: 10 TFLOP/s", "peak: 0 TFLOP/s"), "matrix.fp32.peak"},
                {with("bandwidth: 1 TB/s", "bandwidth: 101 TB/s"), "memory.bandwidth"},
                {with("bandwidth: 1 TB/s", "bandwidth: 1000"), "memory.bandwidth", "bandwidth needs a unit"},
                {with(capacity, "capacity: 0 GB"), "memory.capacity"},
                {with(capacity, "capacity: 16 GB, usable: 17 GB"), "memory.usable",
                 "17 GB usable of a capacity of 16 GB"},
                {with("value: 0.8, measured", "value: 1.1, measured"), "vector.elementwise.value"},
                {with("spatial_3x3: 0.8", "spatial_3x3: 8"), "matrix.fp32.conv.dgrad.value.spatial_3x3"},
                {with("efficiency: 0.8", "efficiency: -0.8"), "matrix.fp32.gemm.value.efficiency"},
                {tiny_gpu + "kernels: ../other/k.csv\n", "kernels"},
                {tiny_gpu + "vector_kernels: ../v.csv\n", "vector_kernels"}},
               load_tiny);
  load_tiny(with(capacity, "capacity: 16 GB, usable: 16 GB"));
  CHECK_THROWS_AS(load_gpu_profile(config::parse("/nowhere/tiny.yaml", tiny_gpu + "kernels: k.csv\n")),
                  FileError);
}

TEST_CASE("a framework's timing is no kernel table") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "k.csv") << "# timing: framework\nop,dtype,shape,time_us\n"
                                          "gemm,fp32,m1 n1 k1 nn,1\n";
  std::ofstream(folder.path / "tiny.yaml") << tiny_gpu << "kernels: k.csv\n";
  const auto load = [&] { return load_gpu_profile(config::load(folder.path / "tiny.yaml")); };
  const Diagnostic error = only_error(load);
  CHECK(error.message.starts_with((folder.path / "k.csv").string()));
  CHECK(facts_in(error.hint).starts_with("'kernels'"));
  std::ofstream(folder.path / "k.csv") << "op,dtype,shape,time_us\ngemm,fp32,m1 n1 k1 nn,1\n";
  CHECK(load().kernel_table.gemms.size() == 1);
}

TEST_CASE("vector ops of a table of their own stand in place of those among the kernels") {
  const TemporaryFolder folder;
  const std::string header = "op,variant,dtype,shape,bytes,time_us\n";
  std::ofstream(folder.path / "k.csv") << header << "gemm,-,fp32,m1 n1 k1 nn,12,1\n"
                                       << "elementwise,add,fp32,e1024,12288,2\n"
                                       << "embedding,forward w64,fp32,e1024,8192,2\n";
  std::ofstream(folder.path / "v.csv") << header << "gemm,-,fp32,m2 n2 k2 nn,48,3\n"
                                       << "layer_norm,forward w64,fp32,e1024,8192,4\n";
  const auto load = [&](const std::string& keys) {
    std::ofstream(folder.path / "tiny.yaml") << tiny_gpu << keys;
    return load_gpu_profile(config::load(folder.path / "tiny.yaml")).kernel_table;
  };
  CHECK(load("kernels: k.csv\n").vectors.size() == 2);
  const KernelTable both = load("kernels: k.csv\nvector_kernels: v.csv\n");
  REQUIRE(both.gemms.size() == 1);
  CHECK(both.gemms[0].duration == Seconds(1e-6));
  REQUIRE(both.vectors.size() == 1);
  CHECK(both.vectors[0].kind == OpKind::layer_norm);
  const KernelTable alone = load("vector_kernels: v.csv\n");
  CHECK(alone.gemms.empty());
  CHECK(alone.vectors.size() == 1);

  std::ofstream(folder.path / "v.csv") << "# timing: framework\n" << header;
  const Diagnostic error = only_error([&] { load("vector_kernels: v.csv\n"); });
  CHECK(error.hint.find("'vector_kernels'") != std::string::npos);
}

TEST_CASE("an fp16 peak below the fp32 peak is only doubted") {
  std::vector<Diagnostic> warnings;
  load_gpu_profile(config::parse("tiny.yaml", replaced(tiny_gpu, "100 TFLOP/s", "5 TFLOP/s")), &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "matrix.fp16.peak");
}
