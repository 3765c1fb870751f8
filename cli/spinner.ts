/** Shows a spinner while a command waits; only on a terminal, and on stderr, which a pipe does not read. */
import { clearLine, cursorTo } from 'node:readline'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
/** For a shorter wait, a spinner only flickers. */
const DELAY_MS = 200

export async function whileWaiting<T>(label: string, work: Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY) return work
  let frame = 0
  const clear = () => {
    cursorTo(stderr, 0)
    clearLine(stderr, 0)
  }
  const spin = () => {
    clear()
    stderr.write(`${FRAMES[frame++ % FRAMES.length]} ${label}`)
  }
  let ticking: NodeJS.Timeout | undefined
  const delay = setTimeout(() => {
    ticking = setInterval(spin, FRAME_MS)
  }, DELAY_MS)
  try {
    return await work
  } finally {
    clearTimeout(delay)
    clearInterval(ticking)
    if (frame > 0) clear()
  }
}
