import { type Cases, replayed } from './fixture.js'

export function resolveCases({ expect, it, fresh }: Cases): void {
  it('found: the recorded answer is owed, and its payment is spent', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }), 'owed')
    expect(await s.resolve(successor, 'found')).toBe('completed')
    expect(replayed(await s.open(s.call('late')))).toBe('owed')
    expect(await s.open(s.call('payer', { key: null }))).toEqual({ verdict: 'spent' })
    expect(await s.open(s.call('other', { key: null, payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('dead: the successor goes on with its own payment, as after an open', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }))
    expect(await s.resolve(successor, 'dead')).toBe('opened')
    expect((await s.open(s.call('late', { payment: 'r' }))).verdict).toBe('inProgress')
    expect((await s.open(s.call('late', { key: null, payment: 'q' }))).verdict).toBe('inUse')
    expect(await s.record(successor, 'new answer')).toBe('recorded')
    await s.close(successor, 'complete')
    expect(replayed(await s.open(s.call('late', { payment: 'r' })))).toBe('new answer')
  })

  it('dead: the same payment presented again is held again', async s => {
    const dead = await s.orphan()
    const successor = { ...dead, token: 'successor' }
    await s.open(successor)
    expect(await s.resolve(successor, 'dead')).toBe('opened')
    expect((await s.open(s.call('other', { key: null }))).verdict).toBe('inUse')
    expect(await s.record(dead)).toBe('superseded')
    expect(await s.record(successor)).toBe('recorded')
  })

  it('dead: the answer that was never paid for is forgotten', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }), 'never paid for')
    await s.resolve(successor, 'dead')
    await s.close(successor, 'complete', 'its own')
    expect(replayed(await s.open(s.call('late', { payment: 'r' })))).toBe('its own')
  })

  it('dead: the reopened claim lapses as any other', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }))
    await s.resolve(successor, 'dead')
    await s.advance(s.leaseMs)
    expect(await s.open(s.call('next', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('dead, from the call that recorded: the answer is forgotten, and the payment is free', async s => {
    const { payment: _, ...dead } = await s.orphan('never paid for')
    expect(await s.resolve(dead, 'dead')).toBe('opened')
    expect(await s.open(s.call('other', { key: null }))).toEqual({ verdict: 'opened' })
    await s.advance(s.leaseMs)
    expect(await s.open(s.call('next', { payment: 'q' }))).toEqual({ verdict: 'opened' })
  })

  it('dead, from a call that was taken over: nothing changes, and the answer is still there', async s => {
    const dead = s.call('dead', { payment: null })
    const successor = await s.adopted(s.call('successor'), 'owed')
    expect(await s.resolve(dead, 'dead')).toBe('moved')
    await s.resolve(successor, 'found')
    expect(await s.resolve(dead, 'dead')).toBe('moved')
    expect(replayed(await s.open(s.call('late')))).toBe('owed')
  })

  it('dead without a presented payment: the claim alone is ours', async s => {
    const successor = await s.adopted(s.call('successor', { payment: null }))
    expect(await s.resolve(successor, 'dead')).toBe('opened')
    expect((await s.open(s.call('late', { payment: null }))).verdict).toBe('inProgress')
    // Sent again, it says what it said.
    expect(await s.resolve(successor, 'dead')).toBe('opened')
  })

  for (const forgets of [false, true]) {
    const where = forgets ? ', also where the store forgot the recorded one' : ''
    it(`moved: where the presented payment is another’s, the key is free and nothing is held${where}`, async s => {
      await s.orphan('never paid for', forgets ? { paymentTtlMs: s.leaseMs } : {})
      const successor = s.call('successor', { payment: 'q' })
      expect((await s.open(successor)).verdict).toBe('orphaned')
      await s.open(s.call('other', { key: null, payment: 'q' }))
      expect(await s.resolve(successor, 'dead')).toBe('moved')
      expect(await s.open(s.call('late', { payment: 'r' }))).toEqual({ verdict: 'opened' })
    })
  }

  it('spent: where the presented payment is another call’s and spent, the key is free', async s => {
    await s.orphan()
    const other = s.call('other', { key: null, payment: 'q' })
    const successor = await s.opened(s.call('successor', { payment: 'q' }))
    await s.ended(other, 'complete')
    expect(await s.resolve(successor, 'dead')).toBe('spent')
    expect(await s.open(s.call('late', { payment: 'r' }))).toEqual({ verdict: 'opened' })
  })

  it('moved: a successor that was itself succeeded decides nothing, in whatever order they answer', async () => {
    for (const verdict of ['found', 'dead'] as const) {
      const s = await fresh()
      await s.orphan()
      const slow = s.call('slow', { payment: 'q' })
      const quick = s.call('quick', { payment: 'r' })
      await s.open(slow)
      await s.advance(s.leaseMs)
      await s.open(quick)
      expect(await s.resolve(slow, verdict)).toBe('moved')
      expect(await s.resolve(quick, 'found')).toBe('completed')
      expect(await s.resolve(slow, verdict)).toBe('moved')
    }
  })

  it('moved: a verdict on another payment than the recorded one decides nothing', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }))
    expect(await s.resolve(successor, 'dead', 'another')).toBe('moved')
    expect((await s.open(s.call('late', { payment: 'r' }))).verdict).toBe('inProgress')
  })

  it('moved: where no payment was recorded, no verdict decides', async s => {
    const dead = s.call('dead', { payment: null })
    const successor = s.call('successor', { payment: null })
    await s.recorded(dead)
    await s.advance(s.leaseMs)
    expect((await s.open(successor)).verdict).toBe('orphaned')
    expect(await s.resolve(successor, 'found')).toBe('moved')
  })

  it('sent again it says what holds by then: the payment that it took may be another’s, or nobody’s', async s => {
    const successor = await s.adopted(s.call('successor', { payment: 'q' }))
    expect(await s.resolve(successor, 'dead')).toBe('opened')
    await s.advance(s.leaseMs)
    const other = s.call('other', { key: null, payment: 'q' })
    expect(await s.open(other)).toEqual({ verdict: 'opened' })
    expect(await s.resolve(successor, 'dead')).toBe('moved')
    await s.close(other, 'release')
    expect(await s.resolve(successor, 'dead')).toBe('moved')
  })

  for (const payment of ['p', 'q']) {
    const where = payment === 'p' ? ', where it is presented again' : ''
    it(`a payment that its holder completed stays spent, even where a node calls it dead${where}`, async s => {
      const successor = await s.adopted(s.call('successor', { payment }))
      await s.close(s.call('dead'), 'complete')
      expect(await s.resolve(successor, 'dead')).toBe(payment === 'p' ? 'spent' : 'opened')
      expect(await s.open(s.call('payer', { key: null }))).toEqual({ verdict: 'spent' })
    })
  }

  it('a verdict on a payment that the store forgot changes no payment, nor what has taken it since', async () => {
    for (const verdict of ['found', 'dead'] as const)
      for (const taken of [false, true]) {
        const s = await fresh()
        await s.orphan('owed', { paymentTtlMs: s.leaseMs })
        const other = s.call('other', { key: null })
        if (taken) expect(await s.open(other)).toEqual({ verdict: 'opened' })
        const successor = s.call('successor', { payment: 'q' })
        expect((await s.open(successor)).verdict).toBe('orphaned')
        expect(await s.resolve(successor, verdict)).toBe(verdict === 'found' ? 'completed' : 'opened')
        if (taken) expect(await s.record(other)).toBe('recorded')
        else expect(await s.open(other)).toEqual({ verdict: 'opened' })
      }
  })
}
