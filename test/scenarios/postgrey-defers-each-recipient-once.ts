import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that greylists gets each message again five minutes later, and no limit is set',
  internet: `
    summary = "A server that greylists for five minutes"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    greylist = { seconds = 300, reply = "450 4.2.0 Recipient address rejected: Greylisted" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(10, 'shop.example'));
    await pass('6 min');
  },
  account: `
    shop accepted 10 messages from 0:05 to 0:05
      refused 10 × at rcpt: greylist 450 4.2.0 Recipient address rejected: Greylisted from 0:00 to 0:00
    10 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
