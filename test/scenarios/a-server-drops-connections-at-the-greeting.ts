import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail waits while a server drops each connection at its greeting, and arrives afterwards',
  internet: `
    summary = "A server that drops connections for ten minutes"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    faults = [{ to_minute = 10, kind = "drop-at-greeting" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(5, 'shop.example'));
    await pass('22 min', '20 s');
  },
  account: `
    shop accepted 5 messages from 0:21 to 0:21
      refused 3 × at greeting: dropped from 0:00 to 0:06
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
