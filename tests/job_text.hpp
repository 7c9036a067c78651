#pragma once
// A job from its text, for tests of the reader.

#include "jobs/job.hpp"
#include "shipped_catalogue.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <string_view>

namespace trainyard::testing {

inline jobs::ImportedJob read_job_text(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / name) << text;
  return jobs::read_job(shipped_catalogue(), folder.path / name);
}

/// The last setting of a key.
inline const jobs::Account& account_of(const jobs::ImportedJob& job, std::string_view key) {
  const auto found = std::find_if(job.account.rbegin(), job.account.rend(),
                                  [&](const jobs::Account& one) { return one.setting.key == key; });
  REQUIRE(found != job.account.rend());
  return *found;
}

inline bool assumes(const jobs::ImportedJob& job, std::string_view key, std::string_view value) {
  return std::ranges::any_of(
      job.assumptions, [&](const jobs::Assumption& one) { return one.key == key && one.value == value; });
}

}  // namespace trainyard::testing
