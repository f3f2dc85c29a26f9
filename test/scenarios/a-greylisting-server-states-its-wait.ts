import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that greylists gets each message again after the wait that its reply states',
  internet: `
    summary = "A server that greylists and states for how long"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    greylist = { seconds = 900, reply = "451 4.7.1 Greylisted, please come back in 00:15:00" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(5, 'shop.example'));
    await pass('16 min');
  },
  account: `
    shop accepted 5 messages from 0:15 to 0:15
      refused 5 × at rcpt: greylist 451 4.7.1 Greylisted, please come back in 00:15:00 from 0:00 to 0:00
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
