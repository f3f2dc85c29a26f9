import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to GMX, which always offers TLS, waits while GMX offers none',
  internet: `
    summary = "GMX without TLS"
    [[domains]]
    name = "gmx.net"
    provider = "gmx"
    share = 1
    [providers.gmx]
    tls = "none"
    unknown = false
    full = false
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(addresses(5, 'gmx.net'));
    await pass('3 min');
    change('gmx', { tls: 'required' });
    await pass('5 min');
  },
  account: `
    gmx accepted 5 messages from 0:06 to 0:06
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
