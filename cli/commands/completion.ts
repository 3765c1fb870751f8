/** `svc completion`: scripts for shells, and what these scripts ask at each Tab. */
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'

export function completionCommand(program: Command): void {
  tab(program, { completionCommandName: 'completion' })
  program.commands
    .find(command => command.name() === 'completion')
    ?.description('print a script for your shell, which then completes commands and flags')
    .addHelpText(
      'after',
      `
Examples:
  $ source <(svc completion bash)      # in ~/.bashrc
  $ source <(svc completion zsh)       # in ~/.zshrc
  $ svc completion fish > ~/.config/fish/completions/svc.fish`,
    )
}
