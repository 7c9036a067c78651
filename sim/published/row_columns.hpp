#pragma once
// Columns that only some kinds of published rows have.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Columns of a job whose ranks share a model: the sizes of the model and the layout of the ranks. A file has
/// them if the header has the columns `tp` and `pp`. 0 or empty: not stated.
struct LayoutColumns {
  int layers = 0, hidden = 0, heads = 0, vocabulary = 0;
  int tensor = 0, pipeline = 0, virtual_stages = 0, data = 0, context = 0, expert = 0;
  std::string zero = {};               ///< "zero1", "fsdp_full_shard"
  std::string sequence_parallel = {};  ///< "0" or "1"
  std::string recompute = {};          ///< "none", "selective", "full"
  std::string stated_flops = {};       ///< TFLOP/s of a GPU that the source prints with the value
};

/// A column and the member that holds its text or its whole number, which may be written "250k".
struct LayoutColumn {
  std::string_view name;
  std::string LayoutColumns::*text = nullptr;
  int LayoutColumns::*count = nullptr;
};

inline constexpr std::array layout_columns{
    LayoutColumn{"layers", nullptr, &LayoutColumns::layers},
    LayoutColumn{"hidden", nullptr, &LayoutColumns::hidden},
    LayoutColumn{"heads", nullptr, &LayoutColumns::heads},
    LayoutColumn{"vocab", nullptr, &LayoutColumns::vocabulary},
    LayoutColumn{"tp", nullptr, &LayoutColumns::tensor},
    LayoutColumn{"pp", nullptr, &LayoutColumns::pipeline},
    LayoutColumn{"vpp", nullptr, &LayoutColumns::virtual_stages},
    LayoutColumn{"dp", nullptr, &LayoutColumns::data},
    LayoutColumn{"cp", nullptr, &LayoutColumns::context},
    LayoutColumn{"ep", nullptr, &LayoutColumns::expert},
    LayoutColumn{"zero", &LayoutColumns::zero},
    LayoutColumn{"sequence_parallel", &LayoutColumns::sequence_parallel},
    LayoutColumn{"recompute", &LayoutColumns::recompute},
    LayoutColumn{"stated_flops", &LayoutColumns::stated_flops}};

/// A column that a file shares with others, by another name there.
struct ColumnAlias {
  std::string_view column, there;
};

inline constexpr std::array layout_aliases{
    ColumnAlias{"source_detail", "path_or_table"}, ColumnAlias{"gpus_total", "gpus"},
    ColumnAlias{"interconnect_inter", "nic"}, ColumnAlias{"seq_len", "seq"},
    ColumnAlias{"batch_per_gpu", "micro_batch"}};

/// Columns of a training until a target is reached, apart from machine and software: the columns of MLPerf's
/// results (workloads/published/README.md, "Runs to a target"). 0 or empty: not stated.
struct TargetColumns {
  std::string round;                 ///< of MLPerf Training: "2.1"; or "DAWNBench"
  std::string submitter, benchmark;  ///< "resnet"
  std::string optimizer;             ///< in small letters
  double samples = 0;                ///< until the target was reached, mean of the runs
  int runs = 0;                      ///< that reached it
  double epochs = 0;                 ///< of the run; given to the prediction in place of `samples`
  double time_s = 0;                 ///< time to train, the score
  double cost_usd = 0;               ///< of that time
  double energy_j = 0;               ///< in that time, at the supply
  double metered_s = 0;              ///< with energy_j: the time of these runs, mean
  std::string result_submitter;      ///< with energy_j: of the result that it belongs to
};

/// A key that the source omits, and its plausible values.
struct ReportRange {
  std::string key;  ///< as in --set
  std::string low, high;
};

/// Without them nothing of a row about a target could be used; those of times also need the machine.
inline constexpr std::array<std::string_view, 5> columns_of_targets{"round", "submitter", "system",
                                                                    "benchmark", "global_batch"};
inline constexpr std::array<std::string_view, 5> columns_of_times{"accelerator", "accelerators_per_node",
                                                                  "nodes", "accelerators", "framework"};

inline constexpr std::array target_aliases{
    ColumnAlias{"gpu", "accelerator"}, ColumnAlias{"gpus_per_node", "accelerators_per_node"},
    ColumnAlias{"gpus_total", "accelerators"}, ColumnAlias{"interconnect_intra", "accelerator_interconnect"},
    ColumnAlias{"interconnect_inter", "host_networking"}};

/// Columns of somebody's report about a training run, which names the experiment that describes the run.
/// workloads/published/README.md, "Reports of people who train", defines them.
struct ReportColumns {
  std::string id = {};
  std::string layout = {};               ///< in the words of the source
  std::string experiment = {};           ///< its file; empty: none describes the report
  std::vector<ReportRange> ranges = {};  ///< all are at their low ends together, or at their high ends
};

/// A file of reports has the column `experiment`, or all of these.
inline constexpr std::array<std::string_view, 4> columns_of_reports{"id", "software", "layout", "batch"};

/// `url` and `measured` are names in tables of others.
inline constexpr std::array report_aliases{
    ColumnAlias{"gpus_total", "gpus"}, ColumnAlias{"framework", "software"},
    ColumnAlias{"batch_per_gpu", "batch"}, ColumnAlias{"source", "url"}, ColumnAlias{"value", "measured"}};

}  // namespace trainyard
