#include "units/text.hpp"

#include "units/decimal.hpp"

#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <limits>
#include <rapidcheck.h>
#include <regex>
#include <stdexcept>

using namespace trainyard;

namespace {

template <class Q>
double si(std::string_view text) {
  const Parsed<Q> parsed = parse_quantity<Q>(text);
  if (!parsed) FAIL(std::string(text) << ": " << parsed.error().message);
  return parsed->si();
}

template <class T>
std::string number_error(const Parsed<T>& parsed) {
  if (parsed) return "no error";
  const UnitError& found = parsed.error();
  return found.hint.empty() ? found.message : found.message + " | " + found.hint;
}

template <class Q>
std::string error(std::string_view text) {
  return number_error(parse_quantity<Q>(text));
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Any finite double whose base-unit text is in range.
double any_finite() {
  const double value =
      std::ldexp(*rc::gen::inRange<std::int64_t>(-(1LL << 53), 1LL << 53), *rc::gen::inRange(-900, 900));
  RC_PRE(std::isfinite(value));
  return value;
}

template <class Q>
void check_round_trips() {
  CHECK(rc::check([] {
    const double value = any_finite();
    const Parsed<Q> back = parse_quantity<Q>(exact(Q(value)));
    RC_ASSERT(back.has_value());
    RC_ASSERT(same_bits(back->si(), value));
    const std::regex pattern(quantity_pattern<Q>());
    RC_ASSERT(std::regex_match(exact(Q(value)), pattern));
    if (std::is_same_v<Q, Seconds> && std::abs(value) > 100) return;  // "2 h 05 min" is for people only
    const Parsed<Q> near = parse_quantity<Q>(human(Q(value)));
    RC_ASSERT(near.has_value());
    RC_ASSERT(std::abs(near->si() - value) <= 0.5001e-3 * std::abs(value));
  }));
}

}  // namespace

TEST_CASE("times are read in every unit and the unit's power of ten costs no accuracy") {
  CHECK(si<Seconds>("3 s") == 3);
  CHECK(si<Seconds>("1.2 us") == 1.2e-6);
  CHECK(si<Seconds>("1.2us") == 1.2e-6);
  CHECK(si<Seconds>("1.2 \u00b5s") == 1.2e-6);
  CHECK(si<Seconds>("1.2 \u03bcs") == 1.2e-6);
  CHECK(si<Seconds>("0.7 ns") == 0.7e-9);
  CHECK(si<Seconds>("3.3 ms") == 3.3e-3);
  CHECK(si<Seconds>("2 min") == 120);
  CHECK(si<Seconds>("1.5 h") == 5400);
  CHECK(si<Seconds>("-1e3 ms") == -1);
  CHECK(si<Seconds>("0 s") == 0);
}

TEST_CASE("bits and bytes are different words, and GB is not GiB") {
  CHECK(si<Bytes>("1 B") == 1);
  CHECK(si<Bytes>("25 kB") == 25e3);
  CHECK(si<Bytes>("25 KB") == 25e3);
  CHECK(si<Bytes>("25 MB") == 25e6);
  CHECK(si<Bytes>("32 GB") == 32e9);
  CHECK(si<Bytes>("32 GiB") == 34359738368.0);
  CHECK(si<Bytes>("1 TiB") == 1099511627776.0);
  CHECK(si<Bytes>("64 KiB") == 65536);
  CHECK(si<Bytes>("8 bit") == 1);
  CHECK(si<Bytes>("1 Gbit") == 125e6);
  CHECK(si<Bandwidth>("100 Gbps") == 12.5e9);
  CHECK(si<Bandwidth>("100 Gbit/s") == 12.5e9);
  CHECK(si<Bandwidth>("100 Gb/s") == 12.5e9);
  CHECK(si<Bandwidth>("100 GB/s") == 100e9);
  CHECK(si<Bandwidth>("1 MiB/s") == 1048576);
  CHECK(si<Bandwidth>("10 kbps") == 1250);
  CHECK(si<Bandwidth>("1.6 Tbps") == 200e9);
}

TEST_CASE("FLOP counts, FLOP rates, energy, power and money have their units") {
  CHECK(si<Flops>("4.089 GFLOP") == 4.089e9);
  CHECK(si<Flops>("5EFLOP") == 5e18);
  CHECK(si<FlopRate>("15.7 TFLOP/s") == 15.7e12);
  CHECK(si<FlopRate>("15.7 TFLOPS") == 15.7e12);
  CHECK(si<FlopRate>("1 PFLOP/s") == 1e15);
  CHECK(si<Joules>("1 kWh") == 3.6e6);
  CHECK(si<Joules>("2.5 kJ") == 2500);
  CHECK(si<Joules>("1 Wh") == 3600);
  CHECK(si<Watts>("10 kW") == 10e3);
  CHECK(si<Watts>("1.2 MW") == 1.2e6);
  CHECK(si<Dollars>("399000 USD") == 399000);
}

TEST_CASE("a quantity without a unit is told which it may have meant") {
  CHECK(error<Bandwidth>("100") == "bandwidth needs a unit | 100 Gbps (bits) or 100 GB/s (bytes)?");
  CHECK(error<Seconds>("2") == "time needs a unit | 2 us or 2 ms?");
  CHECK(error<Bytes>("25") == "size needs a unit | 25 MB (1e6 bytes) or 25 MiB (2^20 bytes)?");
  CHECK(error<FlopRate>("15.7") == "FLOP rate needs a unit | 15.7 TFLOP/s?");
  CHECK(error<Watts>("0") == "power needs a unit | 0 W?");
}

TEST_CASE("a wrong unit is named, with the spelling or the kind that was expected") {
  CHECK(error<Bandwidth>("25 gb/s") == "unknown unit 'gb/s' | 25 GB/s (bytes) or 25 Gb/s (bits)?");
  CHECK(error<Bandwidth>("25 GBps") == "unknown unit 'GBps' | 25 GB/s (bytes) or 25 Gb/s (bits)?");
  CHECK(error<Bandwidth>("25 gbps") == "unknown unit 'gbps' | did you mean 25 Gbps?");
  CHECK(error<Bandwidth>("25Gb") == "unknown unit 'Gb' | 25 GB/s (bytes) or 25 Gb/s (bits)?");
  CHECK(error<Bandwidth>("8 GT/s") == "unknown unit 'GT/s' | units: B/s, kB/s, MB/s, GB/s, TB/s, PB/s");
  CHECK(error<Bandwidth>("3 s") == "'3 s' is a time, not a bandwidth | for example 25 GB/s");
  CHECK(error<Bandwidth>("3 GB") == "'3 GB' is a size, not a bandwidth | for example 25 GB/s");
  CHECK(error<Flops>("4 GFLOPS") == "'4 GFLOPS' is a FLOP rate, not a FLOP count | for example 4.1 GFLOP");
  CHECK(error<Seconds>("3 J") == "'3 J' is an energy, not a time | for example 1.2 us");
  CHECK(error<Seconds>("3 S") == "unknown unit 'S' | did you mean 3 s?");
  CHECK(error<Bytes>("12 GB GB") == "unknown unit 'GB GB' | units: B, kB, MB, GB, TB, PB");
}

TEST_CASE("what is no decimal number is no quantity") {
  CHECK(error<Bandwidth>("fast") == "'fast' is not a bandwidth | for example 25 GB/s");
  CHECK(error<Bandwidth>("") == "'' is not a bandwidth | for example 25 GB/s");
  CHECK(error<Bandwidth>("1,000 GB/s") ==
        "'1,000' has a digit separator | write 1000 (a decimal fraction takes a point)");
  CHECK(error<Bandwidth>("1_000 GB/s") ==
        "'1_000' has a digit separator | write 1000 (a decimal fraction takes a point)");
  CHECK(number_error(parse_integer("32,64")) ==
        "'32,64' is not one number | one number, with a decimal point; 'trainyard sweep' takes lists of "
        "values");
  CHECK(error<Seconds>(".nan s") == "'.nan' is not a finite number");
  CHECK(error<Seconds>("-.inf s") == "'-.inf' is not a finite number");
  CHECK(error<Seconds>("0x10 s") == "'0x10' is not a decimal number | decimal digits only");
  CHECK(error<Seconds>("010 s") == "'010' starts with a zero | write 10 (decimal; octal is not read)");
  CHECK(error<Seconds>("1.2.3 s") == "'1.2.3 s' is not a time | for example 1.2 us");
  CHECK(error<Seconds>("1 - 2 s") == "unknown unit '- 2 s' | units: ns, us, ms, s");
  CHECK(error<Seconds>("1e400 s") == "'1e400 s' is too large for a number | at most 1.7e308 in base units");
  CHECK(error<Bytes>("1e300 TB") == "'1e300 TB' is too large for a number | at most 1.7e308 in base units");
  CHECK(error<Bytes>("1e308 GiB") == "'1e308 GiB' is too large for a number");
  CHECK(error<Seconds>("1e-400 s") == "'1e-400 s' is too small to tell from 0 | write 0");
  CHECK(error<Seconds>("1e-320 ns") == "'1e-320 ns' is too small to tell from 0 | write 0");
}

TEST_CASE("plain numbers are decimal and whole") {
  CHECK(parse_number("0.1") == 0.1);
  CHECK(parse_number("-1.5e3") == -1500);
  CHECK(parse_number("+.5") == 0.5);
  CHECK(parse_number("5.") == 5);
  CHECK(parse_number("0") == 0);
  CHECK(parse_number("0e-999999999999") == 0);
  CHECK(parse_number("5e-324") == 5e-324);
  CHECK(parse_number("1.7976931348623157e308") == std::numeric_limits<double>::max());
  CHECK(number_error(parse_number("1e-400")) == "'1e-400' is too small to tell from 0 | write 0");
  CHECK(number_error(parse_number("1e400")) ==
        "'1e400' is too large for a number | at most 1.7e308 in base units");
  CHECK(number_error(parse_number("1e999999999999999999999")) ==
        "'1e999999999999999999999' is too large for a number | at most 1.7e308 in base units");
  CHECK(number_error(parse_number(".nan")) == "'.nan' is not a finite number");
  CHECK(number_error(parse_number("12 GB")) == "'12 GB' is not a number | a plain number, without a unit");
  CHECK(number_error(parse_number("0x10")) == "'0x10' is not a decimal number | decimal digits only");
  CHECK(number_error(parse_number("010")) ==
        "'010' starts with a zero | write 10 (decimal; octal is not read)");
  CHECK(number_error(parse_number("")) == "'' is not a number");
  CHECK(number_error(parse_number("-")) == "'-' is not a number");
  CHECK(number_error(parse_number(".")) == "'.' is not a number");
}

TEST_CASE("whole numbers may have an exponent if they stay whole") {
  CHECK(parse_integer("12") == 12);
  CHECK(parse_integer("-7") == -7);
  CHECK(parse_integer("1e3") == 1000);
  CHECK(parse_integer("1.5e1") == 15);
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("9223372036854775807") == std::numeric_limits<long long>::max());
  CHECK(parse_integer("-9223372036854775808") == std::numeric_limits<long long>::min());
  CHECK(number_error(parse_integer("9223372036854775808")) ==
        "'9223372036854775808' is too large | at most 9223372036854775807");
  CHECK(number_error(parse_integer("1e30")) == "'1e30' is too large | at most 9223372036854775807");
  CHECK(number_error(parse_integer("3.9")) == "'3.9' is not a whole number");
  CHECK(number_error(parse_integer("1e-3")) == "'1e-3' is not a whole number");
  CHECK(number_error(parse_integer("0x10")) == "'0x10' is not a decimal number | decimal digits only");
  CHECK(number_error(parse_integer("010")) ==
        "'010' starts with a zero | write 10 (decimal; octal is not read)");
  CHECK(number_error(parse_integer("1_000")) ==
        "'1_000' has a digit separator | write 1000 (a decimal fraction takes a point)");
  CHECK(number_error(parse_integer("12 GB")) ==
        "'12 GB' is not a whole number | a plain number, without a unit");
  CHECK(number_error(parse_integer("many")) == "'many' is not a whole number");
}

TEST_CASE("people see four digits and a fitting prefix") {
  CHECK(human(Seconds(3.740016e-3)) == "3.74 ms");
  CHECK(human(Seconds(0.99996)) == "1 s");
  CHECK(human(Seconds(59.4)) == "59.4 s");
  CHECK(human(Seconds(66.6)) == "1 min 07 s");
  CHECK(human(Seconds(119.6)) == "2 min 00 s");
  CHECK(human(Seconds(1445)) == "24 min 05 s");
  CHECK(human(Seconds(3599)) == "59 min 59 s");
  CHECK(human(Seconds(3599.6)) == "1 h 00 min");
  CHECK(human(Seconds(7500)) == "2 h 05 min");
  CHECK(human(Seconds(-4e6)) == "-1,111 h 07 min");
  CHECK(human(Seconds(0)) == "0 s");
  CHECK(human(Seconds(1.25e-6)) == "1.25 us");
  CHECK(human(Seconds(-2e-9)) == "-2 ns");
  CHECK(human(Bandwidth(122.4321e9)) == "122.4 GB/s");
  CHECK(human(Bytes(25557032)) == "25.56 MB");
  CHECK(human(Bytes(12)) == "12 B");
  CHECK(human(FlopRate(15.7e12)) == "15.7 TFLOP/s");
  CHECK(human(Joules(0.25)) == "250 mJ");
  CHECK(human(Watts(300)) == "300 W");
  CHECK(human(Dollars(1234.56)) == "1235 USD");
}

TEST_CASE("predictions have three digits, zeros included") {
  CHECK(estimate(Seconds(37e-3)) == "37.0 ms");
  CHECK(estimate(Seconds(61.349e-3)) == "61.3 ms");
  CHECK(estimate(Seconds(0.9996e-3)) == "1.00 ms");
  CHECK(estimate(Seconds(863.7e-6)) == "864 us");
  CHECK(estimate(Seconds(-2e-9)) == "-2.00 ns");
  CHECK(estimate(Seconds(0)) == "0 s");
  CHECK(estimate(Seconds(1445)) == "24 min 05 s");
  CHECK(estimate(Bandwidth(2.969e9)) == "2.97 GB/s");
  CHECK(estimate(Joules(3.0996e6)) == "3.10 MJ");
  CHECK(estimate(Seconds(std::numeric_limits<double>::infinity())) == "inf s");
}

TEST_CASE("numbers of a column have its largest one's unit and decimals, and are never -0") {
  const Seconds step(213.49e-3);
  CHECK(human_like(step, step) == "213.5 ms");
  CHECK(human_like(Seconds(3.112e-3), step) == "3.1 ms");
  CHECK(human_like(Seconds(-3.112e-3), step) == "-3.1 ms");
  CHECK(human_like(Seconds(-20e-6), step) == "0.0 ms");
  CHECK(human_like(Seconds(4e-3), Seconds(13e-3)) == "4.00 ms");
  CHECK(human_like(Seconds(600), Seconds(36000)) == "10 min 00 s");
  CHECK(human_like(Seconds(382), Seconds(36000)) == "6 min 22 s");
  CHECK(human_like(Seconds(18), Seconds(7200)) == "18 s");
  CHECK(human_like(Seconds(-18), Seconds(7200)) == "-18 s");
  CHECK(human_like(Seconds(3599.6), Seconds(7200)) == "1 h 00 min");
  CHECK(human_like(Seconds(0.4), Seconds(200)) == "400 ms");
  CHECK(human_like(Seconds(3.144), Seconds(200)) == "3.14 s");
  CHECK(human_like(Seconds(-1e-12), Seconds(300)) == "0 s");
  CHECK(human_like(Seconds(40), Seconds(300)) == "40 s");
  CHECK(human_like(Seconds(0), Seconds(0)) == "0 s");
  CHECK(rc::check([] {
    const double largest = std::abs(any_finite());
    RC_PRE(largest > 1e-200 && largest < 59);
    const auto width = [&](double part) {
      const std::string text = human_like(Seconds(part * largest), Seconds(largest));
      return text.size() - std::min(text.find('.'), text.find(' '));
    };
    RC_ASSERT(width(0.001) == width(1));
  }));
}

TEST_CASE("memory of a GPU is in GB as its maker counts them") {
  constexpr double gib = 1024.0 * 1024 * 1024;
  CHECK(gpu_memory(Bytes(40 * gib)) == "40 GB");
  CHECK(gpu_memory(Bytes(12 * gib + 1)) == "12.0 GB");
  CHECK(gpu_memory(Bytes(12.92e9)) == "12.0 GB");
  CHECK(gpu_memory(Bytes(400e6)) == "0.37 GB");
  CHECK(gpu_memory(Bytes(gib - 1)) == "1.00 GB");
  CHECK(gpu_memory(Bytes(0)) == "0 GB");
  CHECK(gpu_memory_in_column(Bytes(40 * gib)) == "40.00 GB");
}

TEST_CASE("what is infinite, no number or at the end of the range is printed as it is, whatever its unit") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double largest = std::numeric_limits<double>::max();
  const auto check = [&]<class Q>(Q) {
    for (const auto& text : {human(Q(infinite)), exact(Q(infinite))}) CHECK(text.starts_with("inf "));
    for (const auto& text : {human(Q(-infinite)), exact(Q(-infinite))}) CHECK(text.starts_with("-inf "));
    for (const auto& text : {human(Q(std::nan(""))), exact(Q(std::nan("")))})
      CHECK(text.find("nan ") != std::string::npos);
    CHECK(human(Q(largest)).find("e+") != std::string::npos);
  };
  check(Seconds());
  check(Bytes());
  check(Bandwidth());
  check(Flops());
  check(FlopRate());
  check(Joules());
  check(Watts());
  check(Dollars());
  for (const double number : {infinite, -infinite, std::nan("")})
    CHECK_THROWS_AS(shortest_decimal(number), std::invalid_argument);
}

TEST_CASE("exact text is short and carries a prefix") {
  CHECK(exact(Seconds(3.740016e-3)) == "3.740016 ms");
  CHECK(exact(Bandwidth(150e9)) == "150 GB/s");
  CHECK(exact(Bandwidth(100e12)) == "100 TB/s");
  CHECK(exact(Bytes(102228128)) == "102.228128 MB");
  CHECK(exact(Seconds(1.2e-6)) == "1.2 us");
  CHECK(exact(Seconds(7200)) == "7200 s");
  CHECK(exact(Seconds(1.0 / 3)) == "333.3333333333333 ms");
  CHECK(exact(Bandwidth(0)) == "0 B/s");
  CHECK(exact(Flops(1e30)) == "1000000000000 EFLOP");
  CHECK(exact(Flops(1e40)) == "1e+22 EFLOP");
}

TEST_CASE("numbers in reports have twelve digits, in traces the shortest form") {
  CHECK(digits12(1.0 / 3) == "0.333333333333");
  CHECK(digits12(122.4) == "122.4");
  CHECK(digits12(1e-7) == "1e-07");
  CHECK(digits12(25557032) == "25557032");
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(1.0 / 3) == "0.3333333333333333");
  CHECK(shortest(0.003740016) == "0.003740016");
  CHECK(shortest(1.5e11) == "1.5e+11");
  CHECK(rc::check([] {
    const double value = any_finite();
    const Parsed<double> back = parse_number(shortest(value));
    RC_ASSERT(back.has_value());
    RC_ASSERT(same_bits(*back, value));
  }));
}

TEST_CASE("exact text reads back to the same bits and text for people to within half a digit") {
  check_round_trips<Seconds>();
  check_round_trips<Bytes>();
  check_round_trips<Bandwidth>();
  check_round_trips<Flops>();
  check_round_trips<FlopRate>();
  check_round_trips<Joules>();
  check_round_trips<Watts>();
  check_round_trips<Dollars>();
}

TEST_CASE("the schema's pattern accepts what the reader accepts and nothing else") {
  const std::regex pattern(quantity_pattern<Bandwidth>());
  for (const char* text : {"25 GB/s", "25GB/s", "0.5 Gbps", "1e3 B/s", "-1 MiB/s", ".5 TB/s", "5. TB/s"}) {
    CHECK(std::regex_match(text, pattern));
    CHECK(error<Bandwidth>(text) == "no error");
  }
  for (const char* text : {"25", "25 gb/s", "010 GB/s", "0x1 GB/s", "1,0 GB/s", "3 s", "inf GB/s", "GB/s"}) {
    CHECK_FALSE(std::regex_match(text, pattern));
    CHECK(error<Bandwidth>(text) != "no error");
  }
}

TEST_CASE("messages quote long or strange text in part") {
  CHECK(in_quotes("x") == "'x'");
  CHECK(in_quotes("a\x1b[2Jb\n") == "'a?[2Jb?'");
  CHECK(in_quotes(std::string(61, 'k')) == "'" + std::string(60, 'k') + "...'");
  std::string umlauts;
  for (int i = 0; i < 61; ++i) umlauts += "\u00fc";
  CHECK(in_quotes(umlauts) == "'" + umlauts.substr(0, 120) + "...'");
}

TEST_CASE("quantities of different kinds combine into the right kind") {
  CHECK((Bytes(100e9) / Bandwidth(25e9)).si() == 4);
  CHECK((Flops(4e12) / Seconds(2)).si() == 2e12);
  CHECK((Watts(300) * Seconds(2) == Joules(600)));
  CHECK(Seconds(3) / Seconds(2) == 1.5);
  CHECK(Seconds(1) < Seconds(2));
}

TEST_CASE("a training throughput is samples or tokens per second, never a bare number") {
  for (const char* const text : {"803 samples/s", "803samples/s", "803 images/s", "803 img/s",
                                 "803 sequences/s", " 803 sentences/s "}) {
    const Parsed<SampleRate> rate = parse_sample_rate(text);
    REQUIRE(rate);
    CHECK(rate->per_second == 803);
    CHECK(!rate->is_of_tokens);
  }
  CHECK(parse_sample_rate("9.5e4 tokens/s")->per_second == 95000);
  CHECK(parse_sample_rate("9.5e4 tokens/s ")->is_of_tokens);
  CHECK(parse_sample_rate("803").error().hint == "803 samples/s or 803 tokens/s?");
  CHECK(parse_sample_rate("803 Samples/s").error().hint == "did you mean 803 samples/s?");
  CHECK(!parse_sample_rate("1,000 samples/s"));
  CHECK(!parse_sample_rate("nan samples/s"));
  CHECK(parse_quantity<Bandwidth>("803 samples/s").error().message.find("throughput") != std::string::npos);
}
