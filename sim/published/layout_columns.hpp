#pragma once
// Columns of a published row about a job whose ranks share a model: the sizes of the model and the layout of
// the ranks. A file has them if its header has the columns `tp` and `pp`.

#include <array>
#include <string>
#include <string_view>

namespace trainyard {

/// 0 or empty: not stated.
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

}  // namespace trainyard
