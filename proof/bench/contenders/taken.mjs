/** What this process has taken since it began. A module that imports nothing, because a bare process is measured with it. */
export function taken() {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  return { wallMs: performance.now(), cpuMs: (userCPUTime + systemCPUTime) / 1_000, memoryMb: maxRSS / 1_024 }
}
