#pragma once
// What else uses the network while a job runs: other jobs and the traffic of others, put into the job's task
// graph as jobs of their own.

#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"

namespace trainyard {

/// Adds a job whose graph names other ranks of the same cluster. It goes on, step after step, as long as the
/// first one.
void add_job(TaskGraph& graph, const TaskGraph& other);

/// Adds a sender that offers `rate` to a route as long as the job runs. Two ranks more stand for its ends.
void add_background(TaskGraph& graph, const Route& way, Bandwidth rate);

}  // namespace trainyard
