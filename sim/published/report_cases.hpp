#pragma once
// Reports of training as cases: the experiment that a row names, and the figure that its metric states.

#include "published/case.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace trainyard {

/// Why a report's unit does not belong to its metric, or the metric is none; empty if all is well.
std::string unit_problem(std::string_view metric, std::string_view unit);

/// Which reports are summarized together.
std::string_view report_family(const PublishedRow& row);

/// Whether errors of the family's figures say nothing about speeds of training.
bool is_about_collectives(std::string_view family);

/// Whether the row states a speed: of training or of a collective.
bool states_a_speed(const PublishedRow& row);

/// The case of a row, or why it cannot be predicted. Throws InputError if it names an experiment that is not
/// there, or cannot be read, or a range of an unknown key. The file is one of the folder that is called as
/// the table, otherwise next to the table, otherwise as everywhere.
std::variant<Case, std::string> report_case_of(const config::Catalogue& catalogue,
                                               const std::shared_ptr<const PublishedData>& data,
                                               const PublishedRow& row);

}  // namespace trainyard
