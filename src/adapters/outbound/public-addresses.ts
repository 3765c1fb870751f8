/** The addresses of the public internet. All others are of private networks, to which a stranger's URL must not lead us. */
import { BlockList, isIP } from 'node:net'

/** The special-purpose addresses of IPv4, and multicast. @see https://www.iana.org/assignments/iana-ipv4-special-registry/ */
const SPECIAL_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carriers' NAT
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local, clouds' metadata among them
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT relays
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]

/** The routed block. Mapped, NAT64, unique-local, link-local and multicast addresses are outside it. */
const GLOBAL_IPV6 = ['2000::/3']

/** Inside the routed block, but not public: documentation, and tunnels that lead to any IPv4 address. */
const SPECIAL_IPV6 = [
  '2001::/23', // Teredo, benchmarks, ORCHID and other protocol assignments
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const specialIpv4 = listOf(SPECIAL_IPV4, 'ipv4')
const globalIpv6 = listOf(GLOBAL_IPV6, 'ipv6')
const specialIpv6 = listOf(SPECIAL_IPV6, 'ipv6')

/** False for text that is no IP address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      // A zone names an interface of this machine.
      return (
        !address.includes('%') && globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
      )
    default:
      return false
  }
}

function listOf(blocks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const block of blocks) {
    const [net, prefix] = block.split('/')
    list.addSubnet(net!, Number(prefix), family)
  }
  return list
}
