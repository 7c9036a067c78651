// NCCL's all-reduce over all GPUs visible to this process, in place, as in a data-parallel step.

#include "library_versions.hpp"
#include "measure.hpp"
#include "on_device.hpp"
#include "reference.hpp"
#include "rotation.cuh"
#include "stream.cuh"
#include "timer.cuh"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nccl.h>
#include <string>
#include <vector>

namespace trainyard::cuda {
namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) throw MeasurementFailed(std::string(call) + ": " + ncclGetErrorString(status));
}

#define CHECK_NCCL(call) check_nccl((call), #call)

/// One per GPU, created once per process (that takes seconds) and never destroyed: when static objects end,
/// the CUDA contexts may no longer exist.
const std::vector<ncclComm_t>& communicators(int gpus) {
  static const std::vector<ncclComm_t> all = [gpus] {
    std::vector<ncclComm_t> made(static_cast<std::size_t>(gpus));
    CHECK_NCCL(ncclCommInitAll(made.data(), gpus, nullptr));
    return made;
  }();
  return all;
}

/// One GPU's buffers and stream.
struct Rank {
  ColdBuffers buffer;
  std::unique_ptr<Stream> stream;
};

/// Every GPU with its buffers; restores the current GPU.
class Ranks {
public:
  Ranks(int gpus, int timed, std::size_t bytes) : timed_(timed), values_(bytes / sizeof(float)) {
    int copies = 16;
    for_each_gpu(gpus, [&](int) { copies = std::min(copies, cold_copies(bytes)); });
    for_each_gpu(gpus, [&](int rank) {
      ranks_.push_back({ColdBuffers(bytes, copies), std::make_unique<Stream>()});
      fill_random(ranks_.back().buffer, Dtype::fp32, static_cast<std::uint64_t>(rank));
    });
  }

  [[nodiscard]] cudaStream_t timed_stream() const { return at(timed_).stream->get(); }

  void launch(int repetition) const {
    CHECK_NCCL(ncclGroupStart());
    for (int rank = 0; rank < size(); ++rank) {
      void* const buffer = at(rank).buffer[repetition];
      CHECK_NCCL(ncclAllReduce(buffer, buffer, values_, ncclFloat32, ncclSum,
                               communicators(size())[static_cast<std::size_t>(rank)],
                               at(rank).stream->get()));
    }
    CHECK_NCCL(ncclGroupEnd());
  }

  /// After one launch with repetition 0: the largest error on any GPU.
  [[nodiscard]] double check() const {
    ReferenceCheck check("all-reduce", Dtype::fp32);
    for_each_gpu(size(), [&](int rank) {
      for (const std::uint64_t position : sample_positions(values_, 16)) {
        double sum = 0;
        double magnitude = 0;
        for (int from = 0; from < size(); ++from) {
          const double term = random_value(static_cast<std::uint64_t>(from), position);
          sum += term;
          magnitude += std::abs(term);
        }
        check.compare(position, value_at(at(rank).buffer[0], position, Dtype::fp32), sum, magnitude);
      }
    });
    return check.error();
  }

  /// Repeated sums would overflow within a hundred repetitions.
  void clear() const {
    for_each_gpu(size(), [&](int rank) { fill_zero(at(rank).buffer); });
  }

  void wait() const {
    for (const Rank& rank : ranks_) rank.stream->synchronize();
  }

private:
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  template <typename Function>
  void for_each_gpu(int gpus, Function function) const {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const OnDevice there(gpu);
      function(gpu);
    }
  }

  int timed_;
  std::size_t values_;
  std::vector<Rank> ranks_;
};

}  // namespace

Outcome measure_all_reduce(const Request& request) {
  int gpus = 0;
  CHECK_CUDA(cudaGetDeviceCount(&gpus));
  if (gpus < 2) return Skipped{"an all-reduce needs two GPUs, this process sees one"};
  int timed = 0;
  CHECK_CUDA(cudaGetDevice(&timed));

  const Ranks ranks(gpus, timed, static_cast<std::size_t>(request.bytes) / sizeof(float) * sizeof(float));
  ranks.launch(0);
  ranks.wait();
  const double error = ranks.check();
  ranks.clear();
  Measurement result = to_measurement(
      time_on_gpu([&](int repetition, cudaStream_t) { ranks.launch(repetition); }, ranks.timed_stream()));
  ranks.wait();
  result.error = error;
  return result;
}

std::optional<std::string> nccl_version() {
  int version = 0;
  CHECK_NCCL(ncclGetVersion(&version));
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace trainyard::cuda
