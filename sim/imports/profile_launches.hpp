#pragma once
// The calls of a profile's host that start work on its GPU, each with the events around it on its thread, and
// the call that started a given kernel.

#include "imports/profile.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainyard {

enum class WorkPhase {
  rest,  ///< forward, the loss, and all that has no other range around it
  backward,
  optimizer,
  zero_grad,
  unknown  ///< the file has no launch of it
};

/// A launch and the events around it, as indices in the profile's events.
struct ProfiledLaunch {
  std::uint32_t launch = no_event;
  std::uint32_t op = no_event;       ///< the outermost operator around it that computes
  std::uint32_t wrapper = no_event;  ///< the outermost range of the backward pass
  std::uint32_t record = no_event;   ///< the description of a collective by its caller
  std::uint32_t call = no_event;     ///< the innermost range that names a collective
  std::uint32_t leaf = no_event;     ///< the innermost operator that computes
  std::uint32_t update = no_event;   ///< the outermost pass of an optimizer
  WorkPhase phase = WorkPhase::rest;
};

class ProfiledLaunches {
public:
  explicit ProfiledLaunches(const Profile& profile);

  /// The launch of work of the GPU: of those with its number, made by the process that works on its device,
  /// the latest that is no later than it, else the earliest. None if the file has none.
  [[nodiscard]] const ProfiledLaunch* of(const ProfileEvent& work) const;

private:
  struct Enclosed {
    std::uint32_t index = no_event;
    std::uint32_t innermost_op = no_event;  ///< the event or one around it, if it is an operator
    ProfiledLaunch launch;
  };

  [[nodiscard]] const ProfileEvent& event(std::uint32_t index) const { return profile_->events[index]; }
  [[nodiscard]] std::string_view name(std::uint32_t index) const {
    return profile_->texts[event(index).name];
  }
  [[nodiscard]] Enclosed enclosed(std::uint32_t index, const Enclosed* around) const;
  void find();
  void add(std::uint32_t launch, const Enclosed* around);
  void find_closures();
  void find_processes();
  [[nodiscard]] bool launches_something(std::uint32_t call) const;

  const Profile* profile_;
  std::unordered_map<std::uint64_t, std::vector<ProfiledLaunch>> of_correlation_;  // by start
  std::unordered_map<TextPool::Id, TextPool::Id> process_of_device_;
};

}  // namespace trainyard
