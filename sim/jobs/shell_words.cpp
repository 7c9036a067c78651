#include "jobs/shell_words.hpp"

#include "jobs/shell_branches.hpp"
#include "jobs/shell_values.hpp"
#include "jobs/shell_variables.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

namespace trainyard::jobs {
namespace {

class Shell {
public:
  explicit Shell(std::string_view text, int depth = 0) : text_(text), depth_(depth) {}

  ShellText read() {
    if (depth_ > deepest) return {};
    while (at_ < text_.size() && result_.problem.empty()) step();
    end_command();
    result_.decided_by_conditions = variables_.decided_by_conditions();
    return std::move(result_);
  }

private:
  void step() {
    const char c = text_[at_];
    if (c == '<' || c == '>' || (c == '&' && text_.substr(at_ + 1).starts_with('>'))) {
      read_redirection();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '{' ||
               c == '}') {
      if (c == '{' && !words_.empty()) return read_word();
      const bool is_double = text_.substr(at_).starts_with(";;");
      if (branches_.take_pattern(c, is_double, texts_of_words()))
        words_.clear();
      else
        end_command();
      next();
      if (c == '\n') read_documents();
    } else if (is_blank(c)) {
      next();
    } else if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
      next();
      while (at_ < text_.size() && is_blank(text_[at_])) next();
      if (at_ < text_.size()) next();
    } else if (c == '#') {
      read_comment();
    } else {
      read_word();
    }
  }

  void next() {
    if (text_[at_++] == '\n') ++line_;
  }

  void read_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    constexpr std::string_view slurm = "#SBATCH ";
    if (std::string_view line = text_.substr(at_, end - at_); line.starts_with(slurm)) {
      line.remove_prefix(slurm.size());
      ShellText inner = Shell(line.substr(0, line.find(" #")), depth_ + 1).read();
      for (Command& command : inner.commands) {
        for (Word& word : command.words) word.line = line_;
        command.words.insert(command.words.begin(), {"sbatch", line_});
        result_.commands.push_back(std::move(command));
      }
    }
    at_ = end;
  }

  /// "> file", "2>&1", "<<EOF".
  void read_redirection() {
    if (text_.substr(at_).starts_with("<<") && !text_.substr(at_).starts_with("<<<")) {
      at_ += 2;
      if (at_ < text_.size() && text_[at_] == '-') ++at_;
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      const std::size_t begin = at_;
      while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != '\n' && text_[at_] != '>') ++at_;
      std::string word(text_.substr(begin, at_ - begin));
      const bool is_plain = word.find_first_of("'\"\\") != std::string::npos;
      std::erase_if(word, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
      const bool is_script =
          !words_.empty() && (words_.front().text == "sbatch" || words_.front().text == "bash");
      if (!word.empty()) pending_.push_back({std::move(word), is_plain, is_script});
      return;
    }
    const bool is_string = text_.substr(at_).starts_with("<<<");
    const bool writes = text_[at_] == '>';
    while (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '&')) ++at_;
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    Lined file = word_text();
    if (writes) target_ = std::move(file.text);
    if (is_string && !words_.empty() && words_.front().text == "read") read_variables(file.text);
  }

  /// IFS=',' read -r A B <<< "1,2"
  void read_variables(std::string_view text) {
    const Lined* const separators = value_of("IFS");
    const std::string ends = separators == nullptr || separators->text.empty() ? " \t" : separators->text;
    for (const Word& name : std::span(words_).subspan(1)) {
      if (name.text.starts_with('-')) continue;
      const std::string_view value = text.substr(0, text.find_first_of(ends));
      text.remove_prefix(std::min(value.size() + 1, text.size()));
      assign(name.text, here(value), false);
    }
  }

  void read_documents() {
    for (const auto& [end_word, is_plain, is_script] : std::exchange(pending_, {})) {
      HereDocument document{.target = target_, .text = {}, .line = line_};
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        ++line_;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.substr(std::min(line.find_first_not_of('\t'), line.size())) == end_word) break;
        document.text += (is_plain ? std::string(line) : with_values(line)) + '\n';
      }
      if (branches_.skips()) continue;
      if (is_script && target_.empty())
        add_script(document);
      else
        result_.documents.push_back(std::move(document));
    }
    target_.clear();
  }

  /// sbatch <<EOF: the text is a script.
  void add_script(const HereDocument& document) {
    ShellText inner = Shell(document.text, depth_ + 1).read();
    for (Command& command : inner.commands) {
      for (Word& word : command.words) word.line += document.line - 1;
      result_.commands.push_back(std::move(command));
    }
  }

  /// A line of a here-document: variables are put in, quotes stay.
  std::string with_values(std::string_view line) {
    std::string values;
    if (depth_ == deepest_default) {
      stop("a variable's default has more than 32 others in it");
      return values;
    }
    ++depth_;
    const std::string_view whole = std::exchange(text_, line);
    const std::size_t at = std::exchange(at_, 0);
    while (at_ < text_.size()) {
      if (text_[at_] == '$')
        values += variable().text;
      else
        values += text_[at_++];
    }
    text_ = whole;
    at_ = at;
    --depth_;
    return values;
  }

  void read_word() {
    const std::size_t begin = at_;
    if (words_.empty() || is_declaration()) {
      std::size_t end = at_;
      while (end < text_.size() && is_name(text_[end])) ++end;
      const bool adds = text_.substr(end).starts_with("+=");
      if (end > at_ && !std::isdigit(static_cast<unsigned char>(text_[at_])) &&
          end + (adds ? 1U : 0U) < text_.size() && text_[end + (adds ? 1U : 0U)] == '=') {
        const std::string name(text_.substr(at_, end - at_));
        at_ = end + (adds ? 2 : 1);
        const bool is_array = at_ < text_.size() && text_[at_] == '(';
        if (!adds) variables_.elements_of(name).clear();
        assign(name, is_array ? array(variables_.elements_of(name)) : word_text(), adds);
        return;
      }
    }
    const Lined word = word_text();
    if (at_ == begin) {  // a character that begins no word
      next();
      return;
    }
    const std::string& text = word.text;
    const bool is_redirected = at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<');
    if (is_redirected && is_digits(text_.substr(begin, at_ - begin))) return;  // a file's number: 2>&1
    if (words_.empty() && branches_.take_word(text)) return;
    if (text.empty()) {
      if (!words_.empty() && (words_.front().text.starts_with('[') || words_.front().text == "test"))
        words_.push_back({{}, line_});
      return;
    }
    if (text.find_first_of(" \t\r\n") != std::string::npos &&
        (had_unquoted_variable_ || is_command_line(text, text_[begin])))
      split(word);
    else
      words_.push_back({text, word.lines.front()});
  }

  /// A command line in quotes is one of words; the value of an option is not: --name "a --b".
  [[nodiscard]] bool is_command_line(std::string_view text, char first) const {
    if (text.find("--") == std::string_view::npos) return false;
    if (text.starts_with('-')) return first != '-' || text.starts_with("--wrap=");
    return words_.empty() || !words_.back().text.starts_with("--") || contains_equals(words_.back().text);
  }

  static bool contains_equals(std::string_view text) { return text.find('=') != std::string_view::npos; }

  /// The words of a command line. A pipe and a semicolon end the command, redirections are no part of it.
  void split(const Lined& line) {
    const std::string& text = line.text;
    bool is_target = false;  // the next word is a file
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n\\", at)) != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
      std::string word = text.substr(at, end - at);
      const std::size_t sign = word.find_first_not_of("0123456789&");
      const bool redirects = sign != std::string::npos && (word[sign] == '>' || word[sign] == '<');
      const bool ends = word == "|" || word == "||" || word == "&&" || word == "&" || word.ends_with(';');
      if (word.ends_with(';')) word.pop_back();
      if (!std::exchange(is_target, redirects && word.find_last_of("<>") + 1 == word.size()) && !redirects &&
          !word.empty() && word.find_first_not_of("|&") != std::string::npos)
        words_.push_back({std::move(word), line.lines[at]});
      if (ends) end_command();
      at = end;
    }
  }

  [[nodiscard]] bool is_declaration() const {
    constexpr std::array<std::string_view, 5> words{"export", "local", "declare", "readonly", "typeset"};
    return words_.size() == 1 && std::ranges::find(words, words_.front().text) != words.end();
  }

  [[nodiscard]] std::vector<std::string> texts_of_words() const {
    std::vector<std::string> texts;
    for (const Word& word : words_) texts.push_back(word.text);
    return texts;
  }

  void assign(const std::string& name, Lined value, bool adds) {
    if (!branches_.skips()) variables_.assign(name, std::move(value), adds, line_, branches_);
  }

  /// "( ... )" as its words, with blanks between them.
  Lined array(std::vector<std::string>& elements) {
    Lined words;
    next();
    while (at_ < text_.size() && text_[at_] != ')') {
      const char c = text_[at_];
      if (is_blank(c) || c == '\n' || c == '\\') {
        next();
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        const std::size_t begin = at_;
        const Lined word = word_text();
        if (at_ == begin) next();
        if (word.text.empty()) continue;
        elements.push_back(word.text);
        if (!words.text.empty()) words.add(' ', line_);
        words.add(word);
      }
    }
    if (at_ < text_.size()) next();
    return words;
  }

  /// The word that begins here, without quotes, with values of variables.
  Lined word_text() {
    Lined word;
    had_unquoted_variable_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c) || c == '\n' || std::string_view(";&|<>()").find(c) != std::string_view::npos) break;
      if (c == '\'') {
        const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
        while (++at_ < end) {
          word.add(text_[at_], line_);
          if (text_[at_] == '\n') ++line_;
        }
        at_ = std::min(end + 1, text_.size());
      } else if (c == '"') {
        next();
        had_array_ = false;
        while (at_ < text_.size() && text_[at_] != '"') read_quoted(word);
        if (at_ < text_.size()) next();
        had_unquoted_variable_ = had_unquoted_variable_ || had_array_;
      } else if (c == '\\') {
        next();
        if (at_ >= text_.size()) break;
        if (text_[at_] != '\n' && text_[at_] != '\r') word.add(text_[at_], line_);
        next();
      } else if (c == '$') {
        const Lined value = variable();
        had_unquoted_variable_ =
            had_unquoted_variable_ || value.text.find_first_of(" \t\n") != std::string::npos;
        word.add(value);
      } else if (c == '`') {
        const std::size_t end = std::min(text_.find('`', at_ + 1), text_.size() - 1);
        while (at_ <= end) {
          word.add(text_[at_], line_);
          next();
        }
      } else {
        word.add(c, line_);
        next();
      }
    }
    return word;
  }

  void read_quoted(Lined& word) {
    const char c = text_[at_];
    if (c == '$') {
      word.add(variable());
      return;
    }
    if (c == '\\' && at_ + 1 < text_.size()) {
      next();
      if (text_[at_] == '\n') {  // a continued line
        word.add(' ', line_);
        next();
        return;
      }
      if (std::string_view("\\\"$`").find(text_[at_]) == std::string_view::npos) word.add('\\', line_);
    }
    word.add(text_[at_], line_);
    next();
  }

  /// The part up to the bracket that closes the one at `at_`, without both.
  std::string_view bracket(char open, char close) {
    const std::size_t begin = at_ + 1;
    int depth = 0;
    while (at_ < text_.size()) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) break;
      next();
    }
    const std::string_view inner = text_.substr(begin, at_ - std::min(begin, at_));
    if (at_ < text_.size()) next();
    return inner;
  }

  /// $NAME, ${NAME}, ${NAME:-default}, ${NAME[@]}, $((sum)), $(command).
  Lined variable() {
    const std::size_t begin = at_++;
    if (at_ >= text_.size()) return here("$");
    if (text_[at_] == '(') {
      const std::string_view inner = bracket('(', ')');
      const std::string_view whole = text_.substr(begin, at_ - begin);
      if (inner.starts_with("echo ")) return here(expanded(inner.substr(5, inner.find('|') - 5)));
      if (!inner.starts_with('(')) return here(whole);
      const std::optional<long long> value =
          integer_value(variables_.sum_of(inner.substr(1, inner.size() - 2)));
      return here(value ? std::to_string(*value) : whole);
    }
    if (text_[at_] == '{') {
      const std::string_view inner = bracket('{', '}');
      return braced(inner, text_.substr(begin, at_ - begin));
    }
    std::size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const std::string name(text_.substr(at_, end - at_));
    at_ = std::max(end, at_ + (name.empty() ? 1 : 0));
    at_ = std::min(at_, text_.size());
    const Lined* const value = value_of(name);
    return value != nullptr ? *value : here(text_.substr(begin, at_ - begin));
  }

  /// The text between ${ and }. Forms that are not read stay as they are written.
  Lined braced(std::string_view inner, std::string_view whole) {
    const std::size_t end =
        static_cast<std::size_t>(std::ranges::find_if_not(inner, is_name) - inner.begin());
    const std::string name(inner.substr(0, end));
    std::string_view rest = inner.substr(end);
    const bool is_list = rest.starts_with("[@]") || rest.starts_with("[*]");
    if (is_list) rest.remove_prefix(3);
    const Lined* const value = value_of(name);
    if (rest.starts_with('[')) return here(variables_.element(name, rest).value_or(std::string(whole)));
    const bool counts_empty = rest.starts_with(':');  // an empty value is none
    const std::string_view sign = counts_empty ? rest.substr(1) : rest;
    const bool is_set = value != nullptr && !(counts_empty && value->text.empty());
    const char first = sign.empty() ? '\0' : sign.front();
    if (rest.empty() || first == '-' || first == '=' || first == '?') {
      had_array_ = had_array_ || (is_list && is_set);
      if (is_set) return *value;
      if (rest.empty() || first == '?') return here(whole);
      const std::string other = expanded(sign.substr(1));
      if (first == '=') assign(name, here(other), false);
      return here(other);
    }
    if (!is_set || is_list) return here(whole);
    if (first == '+') return here(expanded(sign.substr(1)));
    return here(changed_value(value->text, rest).value_or(std::string(whole)));
  }

  [[nodiscard]] Lined here(std::string_view text) const {
    Lined lined;
    lined.add(text, line_);
    return lined;
  }

  std::string expanded(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    if (text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
      text = text.substr(1, text.size() - 2);
    return with_values(text);
  }

  const Lined* value_of(const std::string& name) {
    const Lined* const value = variables_.value_of(name);
    if (variables_.are_too_long()) stop("the values of variables are more than 16 MiB of text");
    return value;
  }

  void stop(const char* why) {
    if (!result_.problem.empty()) return;
    result_.problem = why;
    result_.problem_line = line_;
  }

  /// In "for NAME in words" the first word counts.
  void take_first_value() {
    if (words_.size() < 3 || words_[1].text != "in" || branches_.skips()) return;
    const std::string& list = words_[2].text;  // an array in quotes is one word here
    const std::string first = list.substr(0, list.find(' '));
    variables_.begin_loop(words_[0].text, here(first), words_.size() > 3 || first != list);
  }

  void end_command() {
    if (words_.empty()) return;
    branches_.end_command(texts_of_words());
    if (branches_.take_loop()) take_first_value();
    std::vector<Word> words = std::exchange(words_, {});
    if (!branches_.skips()) result_.commands.push_back({std::move(words)});
  }

  static constexpr int deepest = 20;  ///< of scripts in scripts

  std::string_view text_;
  int depth_;  ///< of scripts in scripts and values in values
  std::size_t at_ = 0;
  int line_ = 1;
  ShellText result_;
  std::vector<Word> words_;  ///< of the command that is being read
  ShellVariables variables_;
  static constexpr int deepest_default = 32;
  ShellBranches branches_;
  bool had_unquoted_variable_ = false;
  bool had_array_ = false;  ///< "${A[@]}" in quotes is several words
  struct Pending {
    std::string end_word;
    bool is_plain = false;   ///< the last word is quoted
    bool is_script = false;  ///< for a shell
  };
  std::vector<Pending> pending_;  ///< here-documents of this line
  std::string target_;
};

}  // namespace

ShellText shell_words(std::string_view text) { return Shell(text).read(); }

}  // namespace trainyard::jobs
