/** Each survivor is said as soon as it is known: a run of a thousand mutants may be stopped before it reports. */
import { readFileSync } from 'node:fs'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** The file, the code and what becomes of it, in one line. Without numbers of lines, which every edit moves. */
export function nameOf(file, source, replacement, { start, end }) {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column - 1)
  const before = lines[0].slice(0, start.column - 1).trimStart()
  lines[0] = lines[0].slice(start.column - 1)
  const short = text => text.replace(/\s+/g, ' ').slice(0, 80)
  return `${file.split('/').pop()}: ${before.slice(-40)}[${short(lines.join('\n'))} -> ${short(replacement ?? '')}]`
}

class SaySurvivors {
  onMutantTested({ fileName, status, statusReason, replacement, location }) {
    if (status === 'Killed' || status === 'Ignored') return
    console.log(
      `${status}: ${nameOf(fileName, readFileSync(fileName, 'utf8'), replacement, location)}:${location.start.line}`,
    )
    const polluted = /Error: [^\n]*#(.*) fails without the mutant, too/.exec(statusReason ?? '')
    if (polluted) console.log(`  not judged:${polluted[1]} fails without the mutant, too`)
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'survivors', SaySurvivors)]
