#include "workload/read_communications.hpp"

#include "workload/trace_csv.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {
namespace {

constexpr long long most_ops_before_wait = 1'000'000;

/// Calls `set` with each collective of the op and its item in a cell; a single item is that of all. Does
/// nothing if the cell is empty.
template <class Set>
void for_each_communication(const TraceRow& row, TraceColumn column, Op& op, Set set) {
  if (!row.has(column)) return;
  std::vector<std::string> items;
  for_each_item(row.find(column)->text, [&](std::string_view item) { items.emplace_back(item); });
  if (items.size() != 1 && items.size() != op.communications.size()) {
    row.error(column,
              std::to_string(items.size()) + " items for " + std::to_string(op.communications.size()) +
                  " collectives",
              "write one item for all, or one for each size in communication_bytes");
    return;
  }
  for (std::size_t i = 0; i < op.communications.size(); ++i)
    set(op.communications[i], items[items.size() == 1 ? 0 : i]);
}

/// Sets a choice to the item of a list of them; an empty item leaves it.
template <class E>
bool choose_item(const TraceRow& row, TraceColumn column, const std::string& item, E& value) {
  return item.empty() || choose(item, value, [&](const std::string& message, const std::string& hint) {
           row.error(column, message, hint);
         });
}

/// Sets the operation of a collective or the end of a message, with its defaults.
void read_operation(const TraceRow& row, const std::string& item, Phase phase, OpCommunication& one) {
  if (item == message_sent || item == message_received) {
    one.operation = Operation::send_recv;
    one.message = MessageEnd{.sends = item == message_sent, .peer = {}};
    one.at = usual_launch(one.message);
  } else if (const auto known = config::value_named<Operation>(item)) {
    one.operation = *known;
  } else if (!item.empty()) {
    constexpr auto operations = config::texts_of<Operation>();
    std::vector<std::string_view> names(operations.begin(), operations.end());
    names.insert(names.end(), {message_sent, message_received});
    row.error(TraceColumn::communication,
              "unknown " + std::string(config::Names<Operation>::what) + " " + in_quotes(item),
              config::suggest(item, names));
  }
  one.waits = usual_wait(phase, one.operation);
}

void read_peer(const TraceRow& row, const std::string& item, OpCommunication& one) {
  if (!one.message || item.empty()) return;
  const bool is_relative = item.front() == '+' || item.front() == '-';
  const std::string number = item.substr(is_relative ? 1 : 0);
  const bool has_one_sign = number.find_first_of("+-") != 0;
  const Parsed<long long> place = parse_integer(item.front() == '-' ? item : number);
  constexpr long long most = 10'000'000;
  const bool is_itself = is_relative && place && *place == 0;
  if (has_one_sign && !is_itself && place && *place >= -most && *place <= most) {
    one.message->peer = {.is_relative = is_relative, .place = static_cast<int>(*place)};
    return;
  }
  row.error(TraceColumn::peer, in_quotes(item) + " is not a peer",
            "+1: the next rank of the group; -1: the one before; 0: its first rank");
}

void read_peers(const TraceRow& row, Op& op) {
  const auto is_message = [](const OpCommunication& one) { return one.message.has_value(); };
  const bool has_any = std::ranges::any_of(op.communications, is_message);
  if (!row.has(TraceColumn::peer)) {
    if (has_any)
      row.error(TraceColumn::communication, "the message has no peer",
                "fill in column 'peer': +1, the next rank of the group; 0, its first rank");
    return;
  }
  if (!has_any) {
    row.error(TraceColumn::peer, "'peer' is given without a message",
              "only send and recv have a peer; collectives are among all ranks of 'group'");
    return;
  }
  const bool is_list = row.find(TraceColumn::peer)->text.find(';') != std::string::npos;
  for_each_communication(row, TraceColumn::peer, op, [&](OpCommunication& one, const std::string& item) {
    if (!one.message && is_list && !item.empty())
      row.error(TraceColumn::peer, in_quotes(item) + " is the peer of a collective",
                "leave the item of a collective empty: peer: ;+1");
    if (one.message && item.empty()) row.error(TraceColumn::peer, "a message has no peer", "peer: +1;-1");
    read_peer(row, item, one);
  });
}

void read_wait(const TraceRow& row, const std::string& item, OpCommunication& one) {
  if (item.empty()) return;
  const Parsed<long long> ops = parse_integer(item);
  if (item == only_optimizer_waits)
    one.waits = std::nullopt;
  else if (ops && *ops >= 0 && *ops <= most_ops_before_wait)
    one.waits = static_cast<int>(*ops);
  else
    row.error(TraceColumn::waits, in_quotes(item) + " is not a number of ops",
              "0: the next op waits; 2: two ops may run before; optimizer: only the optimizer waits");
}

}  // namespace

void read_communications(const TraceRow& row, Op& op) {
  const bool is_named =
      row.has(TraceColumn::communication) && row.find(TraceColumn::communication)->text != "none";
  const bool has_bytes = row.has(TraceColumn::communication_bytes);
  if (!is_named) {
    for (const TraceColumn column : {TraceColumn::communication_bytes, TraceColumn::group, TraceColumn::waits,
                                     TraceColumn::launch, TraceColumn::peer}) {
      if (!row.has(column)) continue;
      row.error(column,
                std::string(trace_columns[static_cast<std::size_t>(column)].text) +
                    " is given without a collective",
                "name the collective in 'communication'");
    }
    return;
  }
  if (op.phase == Phase::optimizer) {
    row.error(TraceColumn::communication, "the optimizer waits for every collective and cannot launch one",
              "launch it after the backward op that completes its gradients");
  }
  if (!has_bytes) {
    row.error(TraceColumn::communication, "the collective has 0 bytes", "fill in communication_bytes");
    return;
  }
  for_each_item(row.find(TraceColumn::communication_bytes)->text, [&](std::string_view item) {
    const auto bytes = parse_part(row, TraceColumn::communication_bytes, item, most_bytes);
    if (bytes == 0.0) row.error(TraceColumn::communication_bytes, "the collective has 0 bytes");
    op.communications.push_back({.size = Bytes(bytes.value_or(0))});
  });
  for_each_communication(
      row, TraceColumn::communication, op,
      [&](OpCommunication& one, const std::string& item) { read_operation(row, item, op.phase, one); });
  for_each_communication(row, TraceColumn::group, op, [&](OpCommunication& one, const std::string& item) {
    choose_item(row, TraceColumn::group, item, one.axis);
  });
  for_each_communication(row, TraceColumn::launch, op, [&](OpCommunication& one, const std::string& item) {
    choose_item(row, TraceColumn::launch, item, one.at);
  });
  for_each_communication(row, TraceColumn::waits, op,
                         [&](OpCommunication& one, const std::string& item) { read_wait(row, item, one); });
  read_peers(row, op);
}

}  // namespace trainyard
