import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that greylists for longer than usual gets each message a third time after ten minutes',
  internet: `
    summary = "A server that greylists for ten minutes and does not say so"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    greylist = { seconds = 600, reply = "450 4.2.0 Greylisted" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(5, 'shop.example'));
    await pass('12 min');
  },
  account: `
    shop accepted 5 messages from 0:10 to 0:10
      refused 10 × at rcpt: greylist 450 4.2.0 Greylisted from 0:00 to 0:05
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
