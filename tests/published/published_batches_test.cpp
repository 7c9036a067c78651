// Batches that ran and batches that did not on a V100 of 16 GB, as OneFlow's DLPerf published them for six
// frameworks. The memory counted here is what the mathematics of a step has to keep. Frameworks keep more,
// and not all the same: for BERT-base in fp32 some ran 96 sequences and others ran out of memory at 64. So
// - every batch that ran in any framework must fit: all 30 do;
// - a batch that ran out of memory should not: all 6 are judged to fit all the same, so a verdict of "fits"
// is
//   no promise. What those frameworks kept is at most 2.3 times the activations counted here.

#include "run/memory_verdict.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <string>

using namespace trainyard;

namespace {

struct PublishedBatch {
  const char* framework;
  const char* model;
  const char* precision;
  int batch;
};

// The largest batch of each framework, model and precision in Oneflow-Inc/DLPerf c89430b, one V100-SXM2-16GB.
constexpr PublishedBatch ran[] = {{"NGC PyTorch 20.03", "resnet50", "fp32", 128},
                                  {"PyTorch 1.6", "resnet50", "fp32", 128},
                                  {"NGC TensorFlow 1.15", "resnet50", "fp32", 128},
                                  {"TensorFlow 2.3", "resnet50", "fp32", 128},
                                  {"NGC MXNet 20.03", "resnet50", "fp32", 128},
                                  {"PaddlePaddle 1.8.3", "resnet50", "fp32", 128},
                                  {"MindSpore", "resnet50", "fp32", 128},
                                  {"OneFlow v0.2", "resnet50", "fp32", 144},
                                  {"NGC PyTorch 20.03", "resnet50", "amp", 256},
                                  {"NGC TensorFlow 1.15", "resnet50", "amp", 224},
                                  {"TensorFlow 2.3", "resnet50", "amp", 320},
                                  {"NGC MXNet 20.03", "resnet50", "amp", 256},
                                  {"NGC MXNet 20.03", "resnet50", "fp16", 256},
                                  {"PaddlePaddle 1.8.3", "resnet50", "amp", 224},
                                  {"MindSpore", "resnet50", "amp", 256},
                                  {"OneFlow v0.3.1", "resnet50", "amp", 256},
                                  {"NGC PyTorch 20.03", "bert_base", "fp32", 48},
                                  {"NGC TensorFlow 1.15", "bert_base", "fp32", 48},
                                  {"TensorFlow 2.3", "bert_base", "fp32", 64},
                                  {"MXNet 1.6", "bert_base", "fp32", 64},
                                  {"PaddlePaddle 1.8.3", "bert_base", "fp32", 96},
                                  {"MindSpore", "bert_base", "fp32", 96},
                                  {"OneFlow v0.2", "bert_base", "fp32", 96},
                                  {"NGC PyTorch 20.03", "bert_base", "amp", 96},
                                  {"NGC TensorFlow 1.15", "bert_base", "amp", 96},
                                  {"TensorFlow 2.3", "bert_base", "amp", 128},
                                  {"MXNet 1.6", "bert_base", "amp", 128},
                                  {"PaddlePaddle 1.8.3", "bert_base", "amp", 160},
                                  {"MindSpore", "bert_base", "amp", 128},
                                  {"OneFlow v0.3.1", "bert_base", "amp", 160}};

// The same repository: reports/dlperf_benchmark_test_report_v1.md (fp32, "OOM"); the README of
// NVIDIADeepLearningExamples/PyTorch/BERT ("max batch size=96" in mixed precision; the next one others ran is
// 128).
constexpr PublishedBatch out_of_memory[] = {
    {"NGC PyTorch 20.03", "bert_base", "fp32", 64},   {"NGC PyTorch 20.03", "bert_base", "fp32", 96},
    {"NGC PyTorch 20.03", "bert_base", "amp", 128},   {"NGC TensorFlow 1.15", "bert_base", "fp32", 64},
    {"NGC TensorFlow 1.15", "bert_base", "fp32", 96}, {"MXNet 1.6", "bert_base", "fp32", 96}};

MemoryReport report_of(const PublishedBatch& run, const Overrides& more = {}) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "published.yaml").string();
  std::ofstream(file) << fmt::format(
      "platform: dlperf\ngpus: 1\nmodel: {}\nstack: pytorch_ddp\nprecision: {}\nbatch_per_gpu: {}\n"
      "optimizer: {}\n",
      run.model, run.precision, run.batch, run.model == std::string("resnet50") ? "momentum" : "adam");
  return fullest(memory_reports(resolve({{TRAINYARD_SOURCE_DIR}}, file, more)));
}

/// How many times the activations counted would just fill the GPU.
double room_for_activations(const MemoryReport& report) {
  return (report.capacity - (report.peak - report.terms.activations)) / report.terms.activations;
}

std::string line(const PublishedBatch& run, const MemoryReport& report) {
  return fmt::format("{} {} {} batch {}: {:.1f} % of the memory, activations x {:.2f} fill it", run.framework,
                     run.model, run.precision, run.batch, 100 * report.utilization,
                     room_for_activations(report));
}

}  // namespace

TEST_CASE("every batch that ran on a V100 of 16 GB fits") {
  for (const PublishedBatch& run : ran) {
    const MemoryReport report = report_of(run);
    INFO(line(run, report));
    CHECK(report.fits);
  }
}

TEST_CASE("batches that ran out of memory are within 2.3 times the activations counted") {
  for (const PublishedBatch& run : out_of_memory) {
    const MemoryReport report = report_of(run);
    MESSAGE(line(run, report));
    CHECK(room_for_activations(report) < 2.3);
  }
}

TEST_CASE("a batch well above all that ran does not fit") {
  for (const PublishedBatch& run :
       {PublishedBatch{"any", "resnet50", "fp32", 192}, PublishedBatch{"any", "resnet50", "amp", 384},
        PublishedBatch{"any", "bert_base", "fp32", 160}, PublishedBatch{"any", "bert_base", "amp", 320}}) {
    const MemoryReport report = report_of(run);
    INFO(line(run, report));
    CHECK_FALSE(report.fits);
  }
}
