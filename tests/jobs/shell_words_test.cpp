#include "jobs/shell_words.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace trainyard::jobs {
namespace {

std::vector<std::string> words_of(std::string_view text, std::size_t command = 0) {
  const ShellText shell = shell_words(text);
  REQUIRE(command < shell.commands.size());
  std::vector<std::string> words;
  for (const Word& word : shell.commands[command].words) words.push_back(word.text);
  return words;
}

using Words = std::vector<std::string>;

TEST_CASE("shell words: quotes, comments and continued lines") {
  CHECK(words_of("train --name 'a b' \"c d\" e\\ f # comment\n") ==
        Words{"train", "--name", "a b", "c d", "e f"});
  CHECK(words_of("train \\\n  --a 1 \\\r\n  --b=2") == Words{"train", "--a", "1", "--b=2"});
  CHECK(words_of("one; two && three\n", 2) == Words{"three"});
}

TEST_CASE("shell words: variables have the last value") {
  CHECK(words_of("N=4\ntrain $N ${N} ${M:-8} ${M-9} ${N:-7}") == Words{"train", "4", "4", "8", "9", "4"});
  CHECK(words_of("A=\"--x 1 --y\"\nA=\"$A --z 2\"\ntrain $A") ==
        Words{"train", "--x", "1", "--y", "--z", "2"});
  CHECK(words_of("A=(\n  --x 1  # why\n  --y\n)\nA+=(--z 2)\ntrain ${A[@]} \"${A[@]}\"") ==
        Words{"train", "--x", "1", "--y", "--z", "2", "--x", "1", "--y", "--z", "2"});
  CHECK(words_of("export N=2\ntrain $N $UNSET $1") == Words{"export"});
  CHECK(words_of("export N=2\ntrain $N $UNSET $1", 1) == Words{"train", "2", "$UNSET", "$1"});
}

TEST_CASE("shell words: sums of integers") {
  CHECK(words_of("A=4\nB=8\ntrain $((A*B)) $(( $A + ${B} * 2 )) $((A/0)) $((64/$B/2))") ==
        Words{"train", "32", "20", "$((A/0))", "4"});
}

TEST_CASE("shell words: a command in quotes is one of words") {
  CHECK(words_of("srun bash -c \"torchrun --nnodes 4 train.py --lr 1\"") ==
        Words{"srun", "bash", "-c", "torchrun", "--nnodes", "4", "train.py", "--lr", "1"});
}

TEST_CASE("shell words: here-documents, options of Slurm, lines") {
  const ShellText shell =
      shell_words("#SBATCH --nodes=4  # four\nB=2\ncat <<EOF > ds.json\n{\"a\": $B}\nEOF\ntrain --x\n");
  REQUIRE(shell.documents.size() == 1);
  CHECK(shell.documents[0].target == "ds.json");
  CHECK(shell.documents[0].text == "{\"a\": 2}\n");
  CHECK(shell.documents[0].line == 4);
  REQUIRE(shell.commands.size() == 3);
  CHECK(shell.commands[0].words[1].text == "--nodes=4");
  CHECK(shell.commands[2].words[1].line == 6);
}

TEST_CASE("shell words: words of a variable stand where they were assigned") {
  const ShellText shell = shell_words("A=(\n --x 1\n --y\n)\nB=\"--z \\\n 2\"\ntrain ${A[@]} $B --w\n");
  std::vector<int> lines;
  for (const Word& word : shell.commands.back().words) lines.push_back(word.line);
  CHECK(lines == std::vector<int>{7, 2, 2, 3, 5, 6, 7});
}

TEST_CASE("shell words: values that a condition decides are named") {
  const ShellText shell = shell_words("N=1\nif [ $S = big ]; then\n  N=8\nfi\ntrain $N\n");
  CHECK(shell.decided_by_conditions == Words{"N"});
  CHECK(shell.commands.back().words[1].text == "8");
  CHECK(shell_words("N=1\nif true; then\n  M=8\nfi\ntrain $N $M\n").decided_by_conditions.empty());
}

TEST_CASE("shell words: branches whose conditions are known") {
  const auto train = [](const std::string& script) {
    const ShellText shell = shell_words(script);
    CHECK(shell.decided_by_conditions.empty());
    std::string words;
    for (const Word& word : shell.commands.back().words) words += word.text + ' ';
    return words;
  };
  CHECK(train("S=big\nN=1\nif [ $S = big ]; then\n  N=8\nelse\n  N=2\nfi\ntrain $N\n") == "train 8 ");
  CHECK(train("S=x\nif [[ $S == big ]]; then N=8; elif [ -n \"$S\" ]; then N=4; else N=2; fi\ntrain $N") ==
        "train 4 ");
  CHECK(train("N=1\nif [ $N -gt 4 ]; then N=8; fi\ntrain $N") == "train 1 ");
  // a script is started without arguments
  CHECK(train("ZERO=$2\nif [ \"$ZERO\" == \"\" ]; then\n    ZERO=3\nfi\ntrain $ZERO") == "train 3 ");
  CHECK(train("M=7b\ncase \"$M\" in\n 3b|small) H=1 ;;\n 7b)\n  H=2\n  ;;\n *) H=3 ;;\nesac\ntrain $H") ==
        "train 2 ");
  CHECK(train("M=x\ncase $M in a*) H=1;; *) H=3;; esac\ntrain $H") == "train 3 ");
  CHECK(train("N=1\nif [ a = b ]; then\n if [ -f x ]; then N=2; fi\nfi\ntrain $N") == "train 1 ");
}

TEST_CASE("shell words: scripts in scripts, lists of loops, values of echo and read") {
  const ShellText sent =
      shell_words("N=4\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=$N\ntrain --x $N\nEOF\n");
  REQUIRE(sent.commands.size() == 3);
  CHECK(sent.commands[1].words[1].text == "--nodes=4");
  CHECK(sent.commands[2].words[2].text == "4");
  CHECK(sent.commands[2].words[0].line == 5);
  CHECK(words_of("A=\"x y\"\ntrain $(echo \"$A\" | tr a b)") == Words{"train", "x", "y"});
  const ShellText loop =
      shell_words("for C in 1,2 3,4; do\n IFS=',' read -r A B <<< \"$C\"\n train $A $B\ndone\n");
  CHECK(loop.commands.back().words[1].text == "1");
  CHECK(loop.commands.back().words[2].text == "2");
  CHECK(loop.decided_by_conditions == Words{"C"});
}

TEST_CASE("shell words: redirections are no words") {
  for (const char* const end :
       {" 2>&1 | tee log.txt", " > log 2>&1 &", " &> log", " 2> log", " >> log 2>>err", " < /dev/null"})
    CHECK_MESSAGE((words_of(std::string("train --x 512") + end) == Words{"train", "--x", "512"}), end);
  CHECK(words_of("train --x 2 > log --y 3") == Words{"train", "--x", "2", "--y", "3"});
  CHECK(words_of("bash -c \"train --x 8 2>&1 | tee log\"") == Words{"bash", "-c", "train", "--x", "8"});
  CHECK(words_of("bash -c 'cd /a; train --x 8 > log 2>&1'", 1) == Words{"train", "--x", "8"});
  CHECK(words_of("C=\"train --x 8 2>&1\"\n$C") == Words{"train", "--x", "8"});
}

TEST_CASE("shell words: a value in quotes is one word") {
  CHECK(words_of("train --name \"tp --tensor 8\" --name='a --b' --y") ==
        Words{"train", "--name", "tp --tensor 8", "--name=a --b", "--y"});
  CHECK(words_of("sbatch --wrap=\"train --x 8\"") == Words{"sbatch", "--wrap=train", "--x", "8"});
  CHECK(words_of("A=(--x 1 -y)\nB=(1 2)\ntrain \"${A[@]}\" --list \"${B[@]}\"") ==
        Words{"train", "--x", "1", "-y", "--list", "1", "2"});
}

TEST_CASE("shell words: parts of values") {
  const auto value = [](const std::string& expansion) {
    return words_of("N=4,8\nP=a/b/c.yaml\nS=12345\nA=(1 2 4)\nX=7\nB=1+1\ntrain " + expansion).at(1);
  };
  CHECK(value("${N%%,*}") == "4");
  CHECK(value("${P%/*}") == "a/b");
  CHECK(value("${P%%/*}") == "a");
  CHECK(value("${P##*/}") == "c.yaml");
  CHECK(value("${P#*/}") == "b/c.yaml");
  CHECK(value("${P%.yaml}") == "a/b/c");
  CHECK(value("${P%.toml}") == "a/b/c.yaml");
  CHECK(value("${A[1]}") == "2");
  CHECK(value("${A[9]}") == "${A[9]}");
  CHECK(value("${X:+2}") == "2");
  CHECK(value("${S:1:2}") == "23");
  CHECK(value("${S:3}") == "45");
  CHECK(value("$((B*2))") == "4");
  // not read: as written
  for (const char* const form :
       {"${S/1/2}", "${S^^}", "${#S}", "${!S}", "${N%%[,]*}", "${A[$X]}", "${U%%,*}"})
    CHECK(value(form) == form);
  CHECK(words_of(": ${N:=4}\ntrain $N ${M:?no}", 1) == Words{"train", "4", "${M:?no}"});
}

TEST_CASE("shell words: a value that only a condition gives is named") {
  CHECK(shell_words("if [ \"$F\" = 1 ]; then\n  E=\"--fp8 hybrid\"\nfi\ntrain $E\n").decided_by_conditions ==
        Words{"E"});
  CHECK(shell_words("for i in 1; do\n  E=2\ndone\ntrain $E\n").decided_by_conditions.empty());
}

TEST_CASE("shell words: nested values and scripts end at some depth") {
  std::string values, comments, scripts;
  for (int i = 0; i < 20'000; ++i) {
    values += "$(echo ${A:-";
    comments += "#SBATCH ";
    scripts += "sbatch <<E\n";
  }
  for (const std::string& text : {values, "train " + values, comments, scripts})
    CHECK_NOTHROW(shell_words(text));
}

TEST_CASE("shell words: any text ends") {
  for (const char* const text :
       {"$",   "${", "$((", "$(", "'",  "\"",        "\\",   "`",  "a=(",  "<<", "<<EOF", "<<EOF\n", ">",
        "${a", "A=", "{",   "}",  "if", "case x in", "case", "fi", "if [", "a)", "esac",  "else"})
    CHECK_NOTHROW(shell_words(text));
}

}  // namespace
}  // namespace trainyard::jobs
