#include "units/dimension.hpp"

#include <array>

namespace trainyard {

namespace {

constexpr std::array time_units{
    Unit{"s"},      Unit{"ms", -3},        Unit{"us", -6},        Unit{"\u00b5s", -6},    Unit{"\u03bcs", -6},
    Unit{"ns", -9}, Unit{"min", 0, 0, 60}, Unit{"h", 0, 0, 3600}, Unit{"d", 0, 0, 86400},
};
constexpr std::array time_shown{Unit{"ns", -9}, Unit{"us", -6}, Unit{"ms", -3}, Unit{"s"}};

// A bit is 2^-3 bytes.
constexpr std::array size_units{
    Unit{"B"},           Unit{"kB", 3},       Unit{"KB", 3},       Unit{"MB", 6},
    Unit{"GB", 9},       Unit{"TB", 12},      Unit{"PB", 15},      Unit{"KiB", 0, 10},
    Unit{"MiB", 0, 20},  Unit{"GiB", 0, 30},  Unit{"TiB", 0, 40},  Unit{"bit", 0, -3},
    Unit{"kbit", 3, -3}, Unit{"Mbit", 6, -3}, Unit{"Gbit", 9, -3}, Unit{"Tbit", 12, -3},
};
constexpr std::array size_shown{Unit{"B"},     Unit{"kB", 3},  Unit{"MB", 6},
                                Unit{"GB", 9}, Unit{"TB", 12}, Unit{"PB", 15}};

constexpr std::array bandwidth_units{
    Unit{"B/s"},           Unit{"kB/s", 3},       Unit{"KB/s", 3},
    Unit{"MB/s", 6},       Unit{"GB/s", 9},       Unit{"TB/s", 12},
    Unit{"PB/s", 15},      Unit{"KiB/s", 0, 10},  Unit{"MiB/s", 0, 20},
    Unit{"GiB/s", 0, 30},  Unit{"TiB/s", 0, 40},  Unit{"bps", 0, -3},
    Unit{"kbps", 3, -3},   Unit{"Mbps", 6, -3},   Unit{"Gbps", 9, -3},
    Unit{"Tbps", 12, -3},  Unit{"bit/s", 0, -3},  Unit{"kbit/s", 3, -3},
    Unit{"Mbit/s", 6, -3}, Unit{"Gbit/s", 9, -3}, Unit{"Tbit/s", 12, -3},
    Unit{"b/s", 0, -3},    Unit{"kb/s", 3, -3},   Unit{"Mb/s", 6, -3},
    Unit{"Gb/s", 9, -3},   Unit{"Tb/s", 12, -3},
};
constexpr std::array bandwidth_shown{Unit{"B/s"},     Unit{"kB/s", 3},  Unit{"MB/s", 6},
                                     Unit{"GB/s", 9}, Unit{"TB/s", 12}, Unit{"PB/s", 15}};

constexpr std::array flops_units{Unit{"FLOP"},      Unit{"kFLOP", 3},  Unit{"MFLOP", 6}, Unit{"GFLOP", 9},
                                 Unit{"TFLOP", 12}, Unit{"PFLOP", 15}, Unit{"EFLOP", 18}};

constexpr std::array flop_rate_units{
    Unit{"FLOP/s"},      Unit{"kFLOP/s", 3},  Unit{"MFLOP/s", 6}, Unit{"GFLOP/s", 9}, Unit{"TFLOP/s", 12},
    Unit{"PFLOP/s", 15}, Unit{"EFLOP/s", 18}, Unit{"FLOPS"},      Unit{"kFLOPS", 3},  Unit{"MFLOPS", 6},
    Unit{"GFLOPS", 9},   Unit{"TFLOPS", 12},  Unit{"PFLOPS", 15}, Unit{"EFLOPS", 18},
};

constexpr std::array energy_units{
    Unit{"J"},     Unit{"mJ", -3},         Unit{"kJ", 3},           Unit{"MJ", 6},
    Unit{"GJ", 9}, Unit{"Wh", 0, 0, 3600}, Unit{"kWh", 3, 0, 3600}, Unit{"MWh", 6, 0, 3600}};
constexpr std::array energy_shown{Unit{"mJ", -3}, Unit{"J"}, Unit{"kJ", 3}, Unit{"MJ", 6}, Unit{"GJ", 9}};

constexpr std::array power_units{Unit{"mW", -3}, Unit{"W"}, Unit{"kW", 3}, Unit{"MW", 6}};
constexpr std::array money_units{Unit{"USD"}};
constexpr std::array sample_rate_units{Unit{"samples/s"},   Unit{"images/s"},    Unit{"img/s"},
                                       Unit{"sequences/s"}, Unit{"sentences/s"}, Unit{"tokens/s"}};

}  // namespace

constinit const Dimension time_dimension{"time", "a", "1.2 us", "# us or # ms?", time_units, time_shown};
constinit const Dimension size_dimension{
    "size", "a", "25 MB", "# MB (1e6 bytes) or # MiB (2^20 bytes)?", size_units, size_shown};
constinit const Dimension bandwidth_dimension{
    "bandwidth", "a", "25 GB/s", "# Gbps (bits) or # GB/s (bytes)?", bandwidth_units, bandwidth_shown};
constinit const Dimension flops_dimension{"FLOP count", "a",         "4.1 GFLOP",
                                          "# GFLOP?",   flops_units, flops_units};
constinit const Dimension flop_rate_dimension{
    "FLOP rate", "a", "15.7 TFLOP/s", "# TFLOP/s?", flop_rate_units, std::span(flop_rate_units).first(7)};
constinit const Dimension energy_dimension{"energy", "an", "3.6 kJ", "# J?", energy_units, energy_shown};
constinit const Dimension power_dimension{"power", "a", "300 W", "# W?", power_units, power_units};
constinit const Dimension money_dimension{"amount of money", "an",        "24.48 USD",
                                          "# USD?",          money_units, money_units};
constinit const Dimension sample_rate_dimension{"training throughput", "a",
                                                "803 samples/s",       "# samples/s or # tokens/s?",
                                                sample_rate_units,     sample_rate_units};

std::span<const Dimension* const> all_dimensions() {
  static constexpr std::array<const Dimension*, 9> all{
      &time_dimension,   &size_dimension,  &bandwidth_dimension, &flops_dimension,      &flop_rate_dimension,
      &energy_dimension, &power_dimension, &money_dimension,     &sample_rate_dimension};
  return all;
}

}  // namespace trainyard
