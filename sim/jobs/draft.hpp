#pragma once
// An experiment that is being made of another tool's job: values by the experiment's keys, and an account of
// every setting of the job. Settings whose meaning depends on others (the replicas of one axis, a word for
// several keys) stand under names with '@' until it is known.

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

/// A setting, and the key that it became.
struct Account {
  Setting setting;
  Fate fate = Fate::unknown;
  /// Taken: "parallelism.tensor=2". Not modelled: how a real step differs. Unknown, or with a value that is
  /// not known: why. May be empty.
  std::string text = {};
};

/// A setting whose value cannot be, or settings that together cannot.
struct Mistake {
  Setting setting;  ///< without a file if no setting alone is wrong
  std::string message;
};

/// A value that the job does not state, or not so.
struct Assumption {
  std::string key, value, reason;
};

class JobDraft {
public:
  /// Takes a setting by its rule; null: no table has the key. If two values differ, the later one counts,
  /// or the earlier one if the later `is_weaker`: a file that a command names. The other is named in a
  /// warning.
  void add(const Setting& setting, const KeyRule* rule, bool is_weaker = false);

  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  /// A whole number; nothing if it is none.
  [[nodiscard]] std::optional<long long> number(std::string_view key) const;
  /// The values of all settings under a key, where each counts.
  [[nodiscard]] std::vector<std::string> all(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return text(key).has_value(); }

  /// Whether the job has a setting of this key of the tool, or one that ends so.
  [[nodiscard]] bool knows(std::string_view tool_key) const;

  /// The settings under the name `from` mean this value of the experiment. An earlier value is replaced.
  void become(std::string_view from, std::string_view key, std::string value);
  /// A value that follows from several settings.
  void set(std::string_view key, std::string value);
  /// A value where the job has none.
  void assume(std::string_view key, std::string value, std::string reason);
  /// A value of the tool where the job has none, under a name with '@' or a key of the experiment; `shown`:
  /// the tool's own key.
  void assume_setting(std::string_view key, std::string_view shown, std::string value, std::string reason);
  /// A value that the settings under the name `from` and a guess make.
  void assume_from(std::string_view from, std::string_view key, std::string value, std::string reason);
  /// The settings under a key have a value that is not known.
  void unknown(std::string_view key, std::string why);
  /// The settings under a key are wrong: read_job() throws it with their place.
  void fail(std::string_view key, std::string message);
  /// The settings under a key contradict others, so that no step runs. Options of a run may mend that.
  void contradict(std::string_view key, std::string message);
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
  [[nodiscard]] const std::vector<Mistake>& mistakes() const { return mistakes_; }
  [[nodiscard]] const std::vector<Mistake>& contradictions() const { return contradictions_; }
  /// The last setting that became a key of the experiment; null: none did.
  [[nodiscard]] const Setting* setting_of(std::string_view key) const;

private:
  struct Entry {
    Account account;
    std::string key;         ///< of the experiment, or with '@'; empty unless taken
    std::string value = {};  ///< as taken
  };
  void take(Entry& entry, const KeyRule& rule, bool is_weaker);
  /// Whether an earlier setting has another value and keeps it.
  bool yields_to_earlier(Entry& entry, std::string_view key, const std::string& value, bool is_weaker);
  /// The keys of the experiment that a key, or a name with '@', became, directly or by others.
  void add_keys(std::string_view key, std::vector<std::string>& keys) const;
  void for_key(std::string_view key, const std::function<void(Entry&)>& change);

  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> values_;
  std::map<std::string, std::vector<std::string>, std::less<>>
      became_;  ///< keys of the experiment by name with '@'
  std::vector<Assumption> assumptions_;
  std::vector<std::string> warnings_;
  [[nodiscard]] Mistake mistake_at(std::string_view key, std::string message);

  std::vector<Mistake> mistakes_;
  std::vector<Mistake> contradictions_;
};

}  // namespace trainyard::jobs
