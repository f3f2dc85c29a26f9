import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that takes twenty-five seconds for each message gets all of them, each once',
  internet: `
    summary = "A server that takes its time for each step"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    delays = { greeting_ms = 5000, rcpt_ms = 10000, dot_ms = 10000 }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(6, 'shop.example'));
    await pass('2 min');
  },
  account: `
    shop accepted 6 messages from 0:00 to 0:00
    6 emails: queued, sent, delivered
    queue: empty
  `,
};
