/** Whom a limit by address counts as one caller. */
import { describe, expect, it } from 'vitest'
import { callerIpNetwork } from '../../src/domain/caller-ip-network.js'

const ONE = '2001:db8:0:1::/64'

describe('a limit by address counts', () => {
  it.each([
    '2001:db8:0:1::',
    '2001:db8:0:1::5',
    '2001:DB8:0:1:FFFF:ffff:Ffff:ffff',
    '2001:0db8:0000:0001:0000:0000:0000:0005',
    '2001:db8::1:0:0:0:5',
    '2001:db8:0:1::192.0.2.1',
    '2001:db8:0:1::5%eth0',
    '2001:db8:0:1::5%25',
  ])('%s by its /64', address => {
    expect(callerIpNetwork(address)).toBe(ONE)
  })

  it.each([
    ['2001:db8:0:2::5', '2001:db8:0:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['1::4:5:6:7:8', '1:0:0:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['fe80::1%2', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s as %s', (address, network) => {
    expect(callerIpNetwork(address)).toBe(network)
  })

  it.each([
    '192.0.2.1',
    '::ffff:192.0.2.1',
    '::FFFF:192.0.2.1',
    '::ffff:192.0.2.1%eth0',
    '0:0:0:0:0:ffff:c000:201',
    '64:ff9b::192.0.2.1',
    '64:ff9b::c000:201',
  ])('%s as the IPv4 address that it stands for', address => {
    expect(callerIpNetwork(address)).toBe('192.0.2.1')
  })

  it.each(['unknown', '', ':', '1:2', '::1]/[::2', '::1]@[::2', 'a caller: mine', '192.0.2.1:80'])(
    '%j, which is no address, by its text',
    text => {
      expect(callerIpNetwork(text)).toBe(text)
    },
  )
})
