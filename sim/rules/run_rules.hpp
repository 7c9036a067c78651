#pragma once
// The model and the software of a published training run: rules over a row's columns.
// workloads/published/runs/published.yaml holds the shipped ones; machine_rules.hpp finds the machine.

#include "config/catalogue.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "rules/row_pattern.hpp"
#include "workload/trace.hpp"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {

/// Keys of the experiment ("sync.kind"), the model ("model.bert.sequence_length"), the stack
/// ("stack.overlap") or the platform and their values. In a value {gpus}, {nodes}, {gpus_per_node}, {servers}
/// and {cpus} stand for the row's numbers; the default number of servers is that of nodes, cpus are the
/// platform's per node. {model WORD} is the number that follows a word in the row's column `model`, and
/// {model WORD|16} is 16 where none does. {notes WORD|none} is the word that follows another one in the
/// column `notes`.
using RowSettings = std::map<std::string, std::string>;

struct ModelRule {
  RowPattern when;
  std::string model;  ///< by name
  RowSettings set;
  Optimizer optimizer = Optimizer::momentum;
  std::string note;  ///< the reason, or the assumption
};

struct StackRule {
  RowPattern when;
  std::string stack;  ///< by name
  RowSettings set;
  std::string note;
};

/// Rows that no model here can represent.
struct ExclusionRule {
  RowPattern when;
  std::string reason;
};

/// The line of the table to which a row belongs.
struct FamilyRule {
  RowPattern when;
  std::string family;
  /// Why the family does not count in the totals and their coverage; shown next to it. Empty: it counts.
  std::string not_in_totals;
};

/// Words that distinguish series of rows, and words that do not.
struct SeriesWords {
  /// Words of framework, model and notes: "xla", which "without xla" negates; if a word ends in '=' the text
  /// after it counts: "worker=".
  std::vector<std::string> options;
  std::vector<std::string> not_of_systems;  ///< words that alone do not make a system's name identify a GPU
};

/// In each list the first rule that matches a row counts.
struct RunRules {
  std::string name;
  std::string title;
  std::vector<ModelRule> models;
  std::vector<StackRule> stacks;
  std::vector<ExclusionRule> excluded;
  std::vector<FamilyRule> families;
  std::vector<OutlierRule> outliers;
  SeriesWords series;
};

/// Throws one InputError with all errors, including models and stacks that are not in the catalogue and
/// unknown keys in `set`.
RunRules load_run_rules(const config::Document& document, const config::Catalogue& catalogue);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Keys<ModelRule> {
  static auto table() {
    return keys(
        required("when", &ModelRule::when, "conditions on the row"),
        required("model", &ModelRule::model, "model of the run"),
        optional("set", &ModelRule::set, "keys of the experiment, model, stack or platform to change"),
        optional("optimizer", &ModelRule::optimizer, "optimizer of the run"),
        optional("note", &ModelRule::note, "reason or assumption"));
  }
};

template <>
struct Keys<StackRule> {
  static auto table() {
    return keys(
        required("when", &StackRule::when, "conditions on the row"),
        required("stack", &StackRule::stack, "software stack of the run"),
        optional("set", &StackRule::set, "keys of the experiment, model, stack or platform to change"),
        optional("note", &StackRule::note, "reason or assumption"));
  }
};

template <>
struct Keys<ExclusionRule> {
  static auto table() {
    return keys(required("when", &ExclusionRule::when, "conditions on the row"),
                required("reason", &ExclusionRule::reason, "why it is not predicted"));
  }
};

template <>
struct Keys<FamilyRule> {
  static auto table() {
    return keys(
        required("when", &FamilyRule::when, "conditions on the row"),
        required("family", &FamilyRule::family, "group of similar runs, a line of the table"),
        optional("not_in_totals", &FamilyRule::not_in_totals, "why the family does not count in the totals"));
  }
};

template <>
struct Keys<SeriesWords> {
  static auto table() {
    return keys(optional("options", &SeriesWords::options,
                         "words of framework, model and notes that distinguish series; for a word that ends "
                         "with '=', the value after it"),
                optional("not_of_systems", &SeriesWords::not_of_systems,
                         "words of a system's name that are ignored"));
  }
};

template <>
struct Keys<RunRules> {
  static auto table() {
    return keys(
        required("name", &RunRules::name, "the file's name without .yaml"),
        optional("title", &RunRules::title, "one line for people"),
        required("models", &RunRules::models, "models of the runs; the first rule that matches counts"),
        required("stacks", &RunRules::stacks,
                 "software stacks of the runs; the first rule that matches counts"),
        optional("excluded", &RunRules::excluded, "runs that cannot be predicted"),
        required("families", &RunRules::families, "families of runs: lines of the table"),
        optional("outliers", &RunRules::outliers, "suspected causes of large errors"),
        optional("series", &RunRules::series, "words that distinguish series, or do not"));
  }
};

}  // namespace trainyard::config
