#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "config/diagnostic.hpp"
#include "config/suggest.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

struct Script {
  std::string_view shell;
  std::string_view text;
};

// Each script asks the program that is being typed (complete.hpp), so answers are never out of date.

constexpr std::string_view bash_script = R"(# bash completion of trainyard
_trainyard() {
  local program=${COMP_WORDS[0]/#\~/$HOME} typed=${COMP_WORDS[COMP_CWORD]}
  local -a answer
  mapfile -t answer < <("$program" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=("${answer[@]:1}")
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  [[ $typed == = ]] && typed=
  local -a paths=()
  case ${answer[0]} in
    files) mapfile -t paths < <(compgen -f -- "$typed") ;;
    folders) mapfile -t paths < <(compgen -d -- "$typed") ;;
  esac
  if ((${#paths[@]})); then
    compopt -o filenames 2>/dev/null # a slash, not a space, after a folder
    COMPREPLY+=("${paths[@]}")
  fi
}
complete -F _trainyard trainyard
)";

constexpr std::string_view zsh_script = R"(#compdef trainyard
_trainyard() {
  local -a answer offered
  local line
  answer=("${(@f)$(${~words[1]} __complete "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  for line in "${(@)answer[2,-1]}"; do
    # _describe takes WORD:DESCRIPTION
    offered+=("${${line%%$'\t'*}//:/\\:}${${(M)line%%$'\t'*}:+:${line#*$'\t'}}")
  done
  (($#offered)) && _describe -t words 'trainyard' offered
  case $answer[1] in
    files) compset -P '--*='; _files ;;
    folders) compset -P '--*='; _files -/ ;;
  esac
}
if [[ $funcstack[1] == _trainyard ]]; then
  _trainyard "$@" # loaded from a folder of $fpath
else
  compdef _trainyard trainyard
fi
)";

constexpr std::string_view fish_script = R"(# fish completion of trainyard
function __trainyard_complete
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l typed (commandline --current-token --cut-at-cursor)
    set -l program $words[1]
    set -e words[1]
    set -l answer ($program __complete $words "$typed" 2>/dev/null)
    string join \n -- $answer[2..]
    set -l before (string match --regex -- '^--[^=]*=' "$typed")
    set -l path (string replace --regex -- '^--[^=]*=' '' "$typed")
    switch "$answer[1]"
        case files
            string replace --regex -- '^' "$before" (__fish_complete_path "$path")
        case folders
            string replace --regex -- '^' "$before" (__fish_complete_directories "$path" '')
    end
end
complete --command trainyard --no-files --arguments '(__trainyard_complete)'
)";

constexpr std::array completion_scripts{Script{"bash", bash_script}, Script{"zsh", zsh_script},
                                        Script{"fish", fish_script}};

std::string_view script_of(const std::string& shell) {
  std::vector<std::string_view> shells;
  for (const Script& script : completion_scripts) {
    if (script.shell == shell) return script.text;
    shells.push_back(script.shell);
  }
  throw InputError("unknown shell '" + shell + "'", config::suggest(shell, shells));
}

}  // namespace

void add_completion(CLI::App& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = *program.add_subcommand(
      "completion", "print a shell's completion script for commands, options and names");
  offer(command.add_option("SHELL", *shell, "bash, zsh or fish")->required(), {"bash", "zsh", "fish"});
  add_examples(command,
               {"trainyard completion bash > trainyard", "trainyard completion zsh > _trainyard",
                "trainyard completion fish > trainyard.fish"},
               "'cmake --install' installs the scripts. To install one yourself, copy it "
               "to\n~/.local/share/bash-completion/completions, a folder of zsh's $fpath or "
               "~/.config/fish/completions.");
  command.callback([shell] { print_result(script_of(*shell)); });
}

}  // namespace trainyard
