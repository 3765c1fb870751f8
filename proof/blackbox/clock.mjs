/** Loaded before a seller: its time of day goes wrong when its parent says so. The monotonic clock stays right, as on a real machine. */
const RealDate = Date
let offsetMs = 0

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + offsetMs)
    else super(...args)
  }
  static now() {
    return RealDate.now() + offsetMs
  }
}

process.on('message', message => {
  if (typeof message?.clockMs === 'number') offsetMs = message.clockMs
})
// The parent's messages alone keep no seller alive.
process.channel?.unref()
