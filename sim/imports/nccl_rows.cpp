#include "imports/nccl_rows.hpp"

#include "config/diagnostic.hpp"
#include "workload/csv.hpp"

#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

/// As metrics of published rows name it.
std::string_view metric_name(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "allreduce";
    case Operation::reduce_scatter:
      return "reducescatter";
    case Operation::all_gather:
      return "allgather";
    case Operation::broadcast:
      return "broadcast";
    case Operation::reduce:
      return "reduce";
    case Operation::gather:
      return "gather";
    case Operation::scatter:
      return "scatter";
    case Operation::all_to_all:
      return "alltoall";
    case Operation::send_recv:
      return "sendrecv";
  }
  return {};
}

/// As published rows name a GPU: "A100-SXM4-40GB".
std::string plain_gpu(std::string_view name) {
  constexpr std::string_view maker = "NVIDIA ";
  if (name.starts_with(maker)) name.remove_prefix(maker.size());
  return std::string(name);
}

/// As the log has it: the last digits of a double are those of the change of unit.
std::string microseconds(Seconds time) { return fmt::format("{:.15g}", time.si() * 1e6); }

}  // namespace

NcclRows nccl_rows(const NcclTestsLog& log, const NcclRowsOptions& options) {
  NcclRows result;
  result.csv =
      "source,source_detail,system,gpu,gpus_per_node,nodes,gpus_total,interconnect_intra,interconnect_inter,"
      "framework,"
      "model,precision,metric,value,unit,clean,split,notes\n";
  for (const NcclTestsTable& table : log.tables) {
    if (table.nodes > 0 && table.ranks % table.nodes != 0) {
      throw InputError(fmt::format("the table at line {} has {} GPUs on {} nodes, not equally many on each",
                                   table.line, table.ranks, table.nodes),
                       "--gpus N and --nodes N replace the numbers that the file says");
    }
    for (const NcclTestsRow& row : table.rows) {
      if (row.size.si() <= 0) {
        ++result.empty;
        continue;
      }
      if (!table.operation || table.ranks < 2 || table.nodes < 1) {
        ++result.untold;
        result.lacks_operation = result.lacks_operation || !table.operation;
        result.lacks_gpus = result.lacks_gpus || table.ranks < 2;
        result.lacks_nodes = result.lacks_nodes || (table.ranks >= 2 && table.nodes < 1);
        continue;
      }
      const auto add = [&](const NcclTestsTime& time, std::string_view place) {
        if (time.time.si() <= 0) {
          ++result.empty;
          return;
        }
        const bool is_clean = time.wrong.value_or(0) == 0;
        result.wrong += is_clean ? 0 : 1;
        ++result.rows;
        const std::string name(metric_name(*table.operation));
        result.csv += fmt::format(
            "{},line {},{},{},{},{},{},{},{},{},{} {:.0f} B,{},{}_{}_time,{},us,{},{},{}\n",
            csv_cell(options.source), row.line, csv_cell(options.system.value_or("")),
            csv_cell(options.gpu.value_or(plain_gpu(table.gpu))), table.ranks / table.nodes, table.nodes,
            table.ranks, csv_cell(options.intra.value_or("")), csv_cell(options.inter.value_or("")),
            table.nccl.empty() ? "NCCL" : "NCCL " + table.nccl, name, row.size.si(),
            row.type == "float"  ? "fp32"
            : row.type == "half" ? "fp16"
                                 : "",
            name, place, microseconds(time.time), is_clean ? "yes" : "no", options.split, row.type);
      };
      add(row.out_of_place, "oop");
      if (row.in_place) add(*row.in_place, "inplace");
    }
  }
  return result;
}

}  // namespace trainyard
