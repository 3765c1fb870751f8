/**
 * The pictures of the audit page in the README. `npm run pictures` makes them from calls that are always the same. Here it is
 * only asked whether they are there and of the right size: fonts differ from one machine to another.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { openBrowser } from '../support/chromium.js'
import { closing } from '../support/closing.js'
import { busyDay, ENDPOINTS } from './busy-day.js'
import { openWatched } from './watched.js'

/** Little wider than a README, so that its letters stay large. */
const WIDTH = 1200
const PICTURES = [
  { name: 'overview', height: 1170 },
  { name: 'calls', height: 900 },
] as const

it.each(PICTURES)(
  'the picture of $name is there',
  async ({ name, height }) => {
    const path = `docs/pictures/${name}.png`
    if (process.env.SVC_PICTURES === '1') await take(name, height, path)
    const picture = readFileSync(path)
    expect(picture.toString('latin1', 1, 4)).toBe('PNG')
    expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([WIDTH, height])
    expect(picture.length).toBeGreaterThan(40_000)
    expect(picture.length).toBeLessThan(300_000)
  },
  60_000,
)

async function take(name: string, height: number, path: string): Promise<void> {
  const { url, feed } = closing(
    await openWatched({
      agent: 'Reading room',
      endpoints: ENDPOINTS,
      explorerUrl: 'https://lora.algokit.io/testnet/transaction/',
    }),
  )
  for (const call of busyDay(Date.UTC(2026, 10, 20, 18))) feed.ended(call)
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: WIDTH, height }, timezoneId: 'UTC' })
  await page.goto(`${url}/_svc/audit#${name}`)
  await page.getByText(' of 900 calls').waitFor()
  if (name === 'overview') await page.locator('#calls-plot .fill').first().waitFor()
  else await page.locator('#list [role=option]').first().click()
  await page.screenshot({ path })
  await browser.close()
}
