#include "background.hpp"

#include "stream.cuh"

#include <array>
#include <chrono>
#include <utility>

namespace trainyard::cuda {

Background::Background(Launch launch) : launch_(std::move(launch)) {
  int device = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  thread_ = std::thread([this, device] { work(device); });
  while (ended_ == 0 && !failed_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (failed_) finish();
}

Background::~Background() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Background::finish() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Background::work(int device) {
  try {
    CHECK_CUDA(cudaSetDevice(device));  // each thread has its own current GPU
    const Stream stream;
    // enough calls wait on the GPU that it stays busy while this thread is not running
    std::array<Event, 8> ends;
    for (int call = 0; !stop_; ++call) {
      const Event& end = ends[static_cast<std::size_t>(call) % ends.size()];
      end.synchronize();  // returns at once for an event that was never recorded
      if (call >= static_cast<int>(ends.size())) ++ended_;
      launch_(call, stream.get());
      end.record(stream.get());
    }
    stream.synchronize();
  } catch (...) {
    error_ = std::current_exception();
    failed_ = true;
  }
}

}  // namespace trainyard::cuda
