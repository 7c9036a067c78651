#pragma once
// Other users of the network during a job: other jobs and other traffic, put into the job's task graph as
// jobs of their own.

#include "platform/cluster.hpp"
#include "schedule/task_graph.hpp"

namespace trainyard {

/// Adds a job whose graph names other ranks of the same cluster. It repeats its step as long as the first job
/// runs.
void add_job(TaskGraph& graph, const TaskGraph& other);

/// Adds a sender that offers `rate` to a route as long as the job runs. Two additional ranks represent its
/// ends.
void add_background(TaskGraph& graph, const Route& way, Bandwidth rate);

}  // namespace trainyard
