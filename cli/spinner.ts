/** Shows a spinner while a command waits; only on a terminal, and on stderr, which a pipe does not read. */

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
/** For a shorter wait, a spinner only flickers. */
const DELAY_MS = 200
const CLEAR_LINE = '\r\u001b[2K'

export async function whileWaiting<T>(label: string, work: Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY) return work
  let frame = 0
  const spin = () => stderr.write(`${CLEAR_LINE}${FRAMES[frame++ % FRAMES.length]} ${label}`)
  let ticking: NodeJS.Timeout | undefined
  const delay = setTimeout(() => {
    ticking = setInterval(spin, FRAME_MS)
  }, DELAY_MS)
  try {
    return await work
  } finally {
    clearTimeout(delay)
    clearInterval(ticking)
    if (frame > 0) stderr.write(CLEAR_LINE)
  }
}
