#include "calibration/host_costs.hpp"

#include "errors_of.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

/// The reference's costs, as the recording has them.
const std::string reference =
    "add_,10.71e-6\nmul,12.20e-6\nmm,19.57e-6\nconv_nograd,3.5e-5\ncopy_dtype,12.91e-6\nview,2.60e-6\n"
    "transpose,2.39e-6\nlinear_grad,38.82e-6\nlayer_norm_grad,22.62e-6\n";

}  // namespace

TEST_CASE("a host's factor is the geometric mean over eight operations") {
  CHECK(host_launch_factor("costs.csv", reference) == doctest::Approx(1));
  CHECK(host_launch_factor("costs.csv", "name,seconds\n" + reference) == doctest::Approx(1));
  std::string slow_view = reference;
  slow_view.replace(slow_view.find("2.60e-6"), 7, "665.6e-6");  // 256 times
  CHECK(host_launch_factor("costs.csv", slow_view) == doctest::Approx(2));
  CHECK(host_launch_line("costs.csv", 0.7912) ==
        "host: {launch: {value: 0.791, measured: \"costs.csv, 8 operations\"}}\n");
}

TEST_CASE("costs that are no times, and operations without one, are errors") {
  const auto errors = [](const std::string& text) {
    return errors_of([&] { (void)host_launch_factor("costs.csv", text); });
  };
  CHECK(errors("add_,1e-5\n").size() == 7);
  CHECK(errors("one,two,three\n").size() == 1);
  std::string wrong = reference;
  wrong.replace(wrong.find("12.20e-6"), 8, "12.20 us");
  CHECK(errors(wrong).front().line == 2);
}

TEST_CASE("the program to run has the reference's costs") {
  const std::string program = host_script("import torch\nREFERENCE_US = {}  # filled in\nend()\n");
  CHECK(program.starts_with("import torch\nREFERENCE_US = {\"add_\": 10.71, "));
  CHECK(program.ends_with("\"layer_norm_grad\": 22.62}\nend()\n"));
}
