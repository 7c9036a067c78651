#pragma once
// The parts of the table of figures, by subject: figures.cpp joins them.

#include "run/figures.hpp"

#include <vector>

namespace trainyard::figure_groups {

// figures_of_step.cpp
std::vector<Figure> figures_of_the_job();
std::vector<Figure> figures_of_speed();       ///< how fast it is
std::vector<Figure> figures_of_the_time();    ///< parts and bounds of a step's time
std::vector<Figure> figures_of_use();         ///< how busy the machine is
std::vector<Figure> figures_of_input_data();  ///< reading real data

// figures_of_updates.cpp
std::vector<Figure> figures_of_many_updates();

// figures_of_needs.cpp
std::vector<Figure> figures_of_needs();          ///< memory, energy and rent
std::vector<Figure> figures_of_the_whole_job();  ///< with `job` or --epochs

// figures_of_goals.cpp
std::vector<Figure> figures_of_learning();            ///< with `learn`
std::vector<Figure> figures_of_the_target();          ///< with `job.target`, --target or `learn`: samples
std::vector<Figure> figures_of_the_time_to_target();  ///< that is, time, cost and energy
std::vector<Figure> figures_of_fixed_epochs();  ///< with `job.epochs` of a model that has `fixed_epochs`

}  // namespace trainyard::figure_groups
