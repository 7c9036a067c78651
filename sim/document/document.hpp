#pragma once
// The content of a page, once: sections of sentences, facts, tables and charts, without a form. The writers
// (document/writers.hpp) print it as text, HTML, Markdown and JSON.

#include "document/fluid_plot.hpp"
#include "units/table.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard::doc {

/// The forms that print a part. JSON has every part.
enum class Shown {
  everywhere,
  pages,    ///< HTML and Markdown, which have room for details
  browser,  ///< HTML
  text      ///< the terminal
};

/// What a reader sees and, for a number, its value in SI base units. Texts are values, too.
struct Value {
  std::string text = {};
  std::optional<double> number = {};

  Value() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): texts are the usual values
  Value(std::string new_text) : text(std::move(new_text)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Value(const char* new_text) : text(new_text) {}
  /// For times, bytes and the like.
  template <class Q>
  requires requires(Q q) { q.si(); }
  Value(std::string new_text, Q quantity) : text(std::move(new_text)), number(quantity.si()) {}
  Value(std::string new_text, double new_number) : text(std::move(new_text)), number(new_number) {}
};

/// A paragraph.
struct Sentence {
  std::string text = {};
  bool is_main = false;  ///< the page's answer
  std::size_t indent = 2;
  Shown shown = Shown::everywhere;
};

/// A line of a label, a value and a remark; without a value the remark takes its place, too.
struct Fact {
  std::string key = {};  ///< in JSON; empty: the label, blanks as "_"
  std::string label = {};
  Value value = {};
  std::string remark = {};
  bool is_main = false;  ///< the terminal paints its value
  Shown shown = Shown::everywhere;
};

/// A part of a whole as a bar. Pages draw those that follow each other as one bar, and as a table.
struct Share {
  std::string label = {};
  double part = 0, whole = 0;  ///< in SI base units
  std::string text = {};       ///< the part with its unit
  std::string fill = {};       ///< class of the style sheet
  std::string meaning = {};    ///< on pages
  Shown shown = Shown::everywhere;
};

struct Labelled {
  std::string label = {}, text = {};
};

/// "label: text", or the text alone without a label.
std::string in_one_line(const Labelled& labelled);

/// Paragraphs, each with a label ("A: ...") or without.
struct List {
  enum class Kind {
    plain,
    ordered,  ///< labels are "1.", "2."
    notes,    ///< labels are marks: "[1]"; the terminal indents further lines
    lines     ///< without labels
  };
  std::vector<Labelled> items = {};
  Kind kind = Kind::plain;
  std::size_t indent = 2;
  Shown shown = Shown::everywhere;
};

/// A heading within a section.
struct Heading {
  std::string title, remark = {};
  Shown shown = Shown::everywhere;
  bool is_close = false;  ///< the terminal leaves no blank line before it
};

struct Column {
  std::string key = {};  ///< in JSON and CSV; empty: the head
  std::string head = {};
  TableColumn layout = text_column();  ///< in the terminal; `is_number` in every form
  std::size_t most = 0;                ///< the terminal cuts the cells to this width; 0: never
  bool is_apart = false;               ///< the terminal leaves one more blank before the text
  Shown shown = Shown::everywhere;
};

/// Columns of texts and of numbers. A narrow terminal leaves the column with `dropped` 1 out first; 0: it
/// stays.
Column texts(std::string head, std::string key = {}, Shown shown = Shown::everywhere);
Column numbers(std::string head, std::string key = {}, int dropped = 0, Shown shown = Shown::everywhere);

/// A coloured cell of a map; the terminal prints the value alone.
struct Tile {
  std::string fill = {};    ///< class of the style sheet
  bool is_striped = false;  ///< a bound
  bool is_chosen = false;
  std::string above = {};  ///< next to the value
  std::string remark = {}, tip = {};
};

struct Cell {
  Value value = {};
  std::string fill = {};               ///< class of the sample of a chart's fill before the text
  std::vector<std::string> code = {};  ///< for copying; the terminal has a line for each
  std::vector<BarPart> bar = {};       ///< in a browser, before the text
  std::optional<Tile> tile = {};

  Cell() = default;
  template <class V>
  requires std::constructible_from<Value, V&&> &&(!std::same_as<std::remove_cvref_t<V>, Cell>)
      // NOLINTNEXTLINE(google-explicit-constructor): most cells are a value alone
      Cell(V&& new_value)
      : value(std::forward<V>(new_value)) {}
  Cell(Value new_value, std::string new_fill) : value(std::move(new_value)), fill(std::move(new_fill)) {}
};

struct Row {
  std::vector<Cell> cells = {};  ///< missing ones are empty
  int depth = 0;                 ///< 1 and 2: a part of the row above with a smaller depth
  std::string rest = {};         ///< a text in place of all further cells
  bool is_rule = false;          ///< a line of dashes in the terminal, nothing elsewhere
  Shown shown = Shown::everywhere;
};

struct Table {
  std::string key = {}, title = {};  ///< the title describes the table for readers who cannot see it
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  TableShape shape = {.indent = 2};
  bool is_heading = false;  ///< the terminal prints the heads as a heading
  bool has_heads = true;    ///< in the terminal
  std::string folded = {};  ///< HTML hides the table under this text until it is opened
  std::vector<std::pair<std::string, std::string>> legend = {};  ///< fills of tiles, and their meaning
  Shown shown = Shown::everywhere;
};

/// Bars one below the other, each of parts side by side; HTML draws them.
struct Bars {
  struct Bar {
    std::string label;  ///< empty for a bar alone
    std::vector<BarPart> parts;
  };
  std::string key = {}, title = {};
  std::vector<Bar> bars = {};
  bool has_legend = false;
};

/// Two axes with curves, marks, columns and rules; HTML draws them.
struct Chart {
  struct Series {
    std::string kind = {}, name = {};
    std::vector<PlotPoint> points = {};
    bool is_line = false;
    int mark = -1;  ///< shape of the marks; -1: none
  };
  /// A line across the whole chart, or up through it.
  struct Rule {
    std::string kind = {}, text = {};
    double at = 0;
    bool is_upright = false;
  };
  struct Column {
    std::string kind = {}, text = {};
    double from = 0, to = 0, height = 0;
  };
  std::string key = {}, title = {};
  PlotAxis across = {}, up = {};
  std::string across_title = {}, up_title = {};
  std::vector<Series> series = {};
  std::vector<Rule> rules = {};
  std::vector<Column> columns = {};
};

/// The numbers on the axes of a chart: those of all points, and the rules.
std::vector<double> numbers_across(const Chart& chart);
std::vector<double> numbers_upwards(const Chart& chart);

/// Points of which the reader chooses the axes, colours and filters; the rows of the table that follows it in
/// the section are the same points. HTML draws them.
struct Points {
  struct Key {
    std::string name = {};
    bool is_scale = false;                 ///< a number of GPUs
    std::vector<std::string> values = {};  ///< in the order of their first points
    std::vector<std::size_t> of = {};      ///< for each point, an index into the values
  };
  struct Figure {
    std::string name = {}, label = {}, unit = {};
    std::vector<std::optional<double>> values = {};  ///< for each point
  };
  std::vector<Key> keys = {};
  std::vector<Figure> figures = {};
  std::size_t all = 0;  ///< also points that are left out here
  std::vector<std::string> columns =
      {};  ///< of the table: names of keys and figures; others cannot be chosen
  std::string x = {}, y = {}, colour = {};  ///< names at the beginning; without a colour the script chooses
};

/// The times for which tracks are busy, in nanoseconds. A browser zooms into them; without a script it shows
/// one still picture.
struct Lanes {
  struct Kind {
    std::string fill = {};  ///< a custom property of the style sheet
    std::string name = {};
    bool operator==(const Kind&) const = default;
  };
  /// What a bar stands for.
  struct Item {
    std::string title = {}, details = {};
    double flops = 0, bytes = 0;
    std::int64_t alone = 0;  ///< ns without concurrent work; 0: unknown
  };
  struct Bar {
    std::int64_t start = 0, end = 0;
    std::size_t kind = 0;
    std::int64_t item = -1;  ///< -1: none
    bool operator==(const Bar&) const = default;
  };
  struct Lane {
    std::string name = {};
    std::vector<Bar> bars = {};  ///< in order
    bool operator==(const Lane&) const = default;
  };
  struct Track {
    std::string name = {};
    std::vector<Lane> lanes = {};
  };
  std::string key = {}, title = {};
  std::vector<Kind> kinds = {};
  std::vector<Item> items = {};
  std::vector<Track> tracks = {};
  std::vector<Lane> still = {};  ///< of the picture
  std::string caption = {};      ///< of the picture
};

/// The same in letters for the terminal, as wide as the page.
struct Letters {
  struct Line {
    std::string label = {}, fill = {};
    std::function<std::string(int)> letters = {};  ///< for a number of columns; none: lines are left out here
  };
  std::string key = {};
  std::vector<Line> lines = {};
  std::string end = {};  ///< of the axis, which begins at 0
};

/// A picture, which HTML alone has.
struct Drawing {
  std::string key = {};
  Html html = {};
};

/// A command for the shell, or a file, for copying.
struct Command {
  std::string label = {}, text = {};
  Shown shown = Shown::everywhere;
};

/// Lines as they are: a file, a chart of letters.
struct Listing {
  std::string key = {}, text = {};
  Shown shown = Shown::everywhere;
};

/// A blank line in the terminal.
inline Listing gap() { return {.shown = Shown::text}; }

using Part = std::variant<Sentence, Fact, Share, List, Heading, Table, Bars, Chart, Points, Lanes, Letters,
                          Drawing, Command, Listing>;

struct Section {
  std::string key = {};    ///< letters and hyphens
  std::string title = {};  ///< pages begin it with a capital
  std::string remark = {};
  std::vector<Part> parts = {};
  Shown shown = Shown::everywhere;
  bool is_untitled_in_text = false;  ///< a blank line there in place of the title, except at the beginning
  bool is_answer = false;            ///< pages begin with it
  /// The terminal prints facts from its margin on, with labels of this width; 0: as a summary does, indented.
  std::size_t label_width = 0;
  bool has_own_words = false;  ///< Document::in_words leaves it as it is on pages

  /// Adds a part.
  template <class P>
  P& add(P part) {
    return std::get<P>(parts.emplace_back(std::move(part)));
  }
  /// Adds a line of a label and a text.
  void fact(std::string label, std::string text) { add(Fact{{}, std::move(label), {}, std::move(text)}); }
};

struct Document {
  std::string title = {};
  std::string version = {};                ///< of the program
  std::vector<std::string> lead = {};      ///< paragraphs below the title of a page
  std::vector<std::string> warnings = {};  ///< of files that were read, as lines
  std::vector<Section> sections = {};
  /// Replaces words in every text; empty: none. It calls GPUs processors where ranks run on processors.
  std::function<std::string(std::string_view)> in_words = {};

  Section& section(std::string key, std::string title, std::string remark = {});
  /// The terminal prints a blank line for its title, and its facts from the margin on.
  Section& account(std::string key, std::string title, std::size_t label_width = 16);
};

}  // namespace trainyard::doc
