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

std::vector<Diagnostic> profile_errors(const std::string& text) {
  return errors_of([&] { load_gpu_profile(config::parse("tiny.yaml", text)); });
}

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

TEST_CASE("absurd rates and fractions are errors where they are written") {
  const auto rate = profile_errors(replaced(tiny_gpu, "peak: 10 TFLOP/s", "peak: 10 FLOP/s"));
  REQUIRE(rate.size() == 1);
  CHECK(rate[0].key_path == "matrix.fp32.peak");
  CHECK(profile_errors(replaced(tiny_gpu, "peak: 10 TFLOP/s", "peak: 1000 PFLOP/s")).size() == 1);
  CHECK(profile_errors(replaced(tiny_gpu, "peak: 10 TFLOP/s", "peak: 0 TFLOP/s")).size() == 1);
  CHECK(profile_errors(replaced(tiny_gpu, "bandwidth: 1 TB/s", "bandwidth: 101 TB/s")).size() == 1);
  CHECK(profile_errors(replaced(tiny_gpu, "bandwidth: 1 TB/s", "bandwidth: 1000")).at(0).message ==
        "bandwidth needs a unit");
  CHECK(profile_errors(replaced(tiny_gpu, "capacity: 16 GB", "capacity: 0 GB")).size() == 1);
  CHECK(profile_errors(replaced(tiny_gpu, "value: 0.8, measured", "value: 1.1, measured")).at(0).key_path ==
        "vector.elementwise.value");
  CHECK(profile_errors(replaced(tiny_gpu, "spatial_3x3: 0.8", "spatial_3x3: 8")).size() == 1);
  CHECK(profile_errors(replaced(tiny_gpu, "efficiency: 0.8", "efficiency: -0.8")).size() == 1);
}

TEST_CASE("a GPU has no more usable memory than memory") {
  const auto errors = profile_errors(replaced(tiny_gpu, "capacity: 16 GB", "capacity: 16 GB, usable: 17 GB"));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "memory.usable");
  CHECK(errors[0].message.find("17 GB usable of a capacity of 16 GB") != std::string::npos);
  CHECK(profile_errors(replaced(tiny_gpu, "capacity: 16 GB", "capacity: 16 GB, usable: 16 GB")).empty());
}

TEST_CASE("a kernel table lies beside its profile") {
  const auto errors = profile_errors(tiny_gpu + "kernels: ../other/k.csv\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "kernels");
  CHECK(profile_errors(tiny_gpu + "vector_kernels: ../v.csv\n").at(0).key_path == "vector_kernels");
  CHECK_THROWS_AS(load_gpu_profile(config::parse("/nowhere/tiny.yaml", tiny_gpu + "kernels: k.csv\n")),
                  FileError);
}

TEST_CASE("a framework's timing is no kernel table") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "k.csv") << "# timing: framework\nop,dtype,shape,time_us\n"
                                          "gemm,fp32,m1 n1 k1 nn,1\n";
  std::ofstream(folder.path / "tiny.yaml") << tiny_gpu << "kernels: k.csv\n";
  const auto load = [&] { return load_gpu_profile(config::load(folder.path / "tiny.yaml")); };
  const auto errors = errors_of(load);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message.starts_with((folder.path / "k.csv").string()));
  CHECK(facts_in(errors[0].hint).starts_with("'kernels'"));
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
  const auto errors = errors_of([&] { load("vector_kernels: v.csv\n"); });
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].hint.find("'vector_kernels'") != std::string::npos);
}

TEST_CASE("an fp16 peak below the fp32 peak is only doubted") {
  std::vector<Diagnostic> warnings;
  load_gpu_profile(config::parse("tiny.yaml", replaced(tiny_gpu, "100 TFLOP/s", "5 TFLOP/s")), &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key_path == "matrix.fp16.peak");
}
