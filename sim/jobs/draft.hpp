#pragma once
// An experiment that is being made of another tool's job: values by the experiment's keys, and an account of
// every setting of the job. Settings that say something by half (the replicas of one axis, a word for several
// keys) stand under names with '@' until their meaning is complete.

#include "jobs/key_rules.hpp"
#include "jobs/setting.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::jobs {

/// The fate of a setting.
struct Account {
  Setting setting;
  Fate fate = Fate::unknown;
  /// Taken: "parallelism.tensor=2". Not modelled: how a real step differs. Unknown, or with a value that is
  /// not known: why. May be empty.
  std::string text = {};
};

/// A value that the job does not state, or not so.
struct Assumption {
  std::string key, value, reason;
};

class JobDraft {
public:
  /// Takes a setting by its rule; null: no table has the key.
  void add(const Setting& setting, const KeyRule* rule);

  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  /// A whole number; nothing if it is none.
  [[nodiscard]] std::optional<long long> number(std::string_view key) const;
  /// The values of all settings under a key, where each counts.
  [[nodiscard]] std::vector<std::string> all(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return text(key).has_value(); }

  /// The settings under the name `from` mean this value of the experiment. An earlier value is replaced.
  void become(std::string_view from, std::string_view key, std::string value);
  /// A value that follows from several settings.
  void set(std::string_view key, std::string value);
  /// A value where the job has none.
  void assume(std::string_view key, std::string value, std::string reason);
  /// Another value than the job's.
  void replace(std::string_view key, std::string value, std::string reason);
  /// The settings under a key differ from the experiment so; they are no part of it.
  void differ(std::string_view key, std::string how);
  /// The settings under a key say nothing about a step, unless they became something.
  void ignore(std::string_view key);
  /// Takes a value out of the experiment. Its settings stay in the account.
  void drop(std::string_view key);
  void warn(std::string text) { warnings_.push_back(std::move(text)); }

  /// The experiment's values in the order of its keys, without names with '@'.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> values() const;
  /// The account in the order of the settings.
  [[nodiscard]] std::vector<Account> account() const;
  [[nodiscard]] const std::vector<Assumption>& assumptions() const { return assumptions_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

private:
  struct Entry {
    Account account;
    std::string key;  ///< of the experiment, or with '@'; empty unless taken
  };
  /// The keys of the experiment that a key, or a name with '@', became, directly or by others.
  void add_keys(std::string_view key, std::vector<std::string>& keys) const;
  void for_key(std::string_view key, const std::function<void(Entry&)>& change);

  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> values_;
  std::map<std::string, std::vector<std::string>, std::less<>>
      became_;  ///< keys of the experiment by name with '@'
  std::vector<Assumption> assumptions_;
  std::vector<std::string> warnings_;
};

}  // namespace trainyard::jobs
