#pragma once
// Hands blocks of bytes from the thread that makes them to the one that uses them.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace trainyard {

/// Blocks that one thread makes and another takes, a few ahead.
class BlockQueue {
public:
  template <class Make>
  explicit BlockQueue(Make make)
      : maker_([this, make = std::move(make)](const std::stop_token& stop) mutable { run(stop, make); }) {}
  ~BlockQueue() {
    const std::lock_guard lock(mutex_);  // not between the maker's look at the stop and its wait
    maker_.request_stop();
    changed_.notify_all();
  }
  BlockQueue(const BlockQueue&) = delete;
  BlockQueue& operator=(const BlockQueue&) = delete;

  /// Empty at the end. Rethrows an exception of the maker.
  std::vector<char> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !blocks_.empty() || is_over_; });
    if (blocks_.empty()) {
      if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
      return {};
    }
    std::vector<char> block = std::move(blocks_.front());
    blocks_.pop_front();
    changed_.notify_all();
    return block;
  }

private:
  template <class Make>
  void run(const std::stop_token& stop, Make& make) {
    try {
      for (std::vector<char> block = make(); !block.empty(); block = make()) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return blocks_.size() < blocks_ahead || stop.stop_requested(); });
        if (stop.stop_requested()) return;
        blocks_.push_back(std::move(block));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      problem_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  static constexpr std::size_t blocks_ahead = 4;
  std::deque<std::vector<char>> blocks_;
  std::exception_ptr problem_;
  bool is_over_ = false;
  std::jthread maker_;  // last: it uses all above
};

}  // namespace trainyard
