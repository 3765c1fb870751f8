/** Ends the run with one line: for what whoever started it can mend. */
export function refuse(line) {
  process.stderr.write(`${line}\n`)
  process.exit(1)
}
