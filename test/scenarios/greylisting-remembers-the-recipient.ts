import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a server that greylists by sender and recipient defers each message, because each has a return path of its own',
  internet: `
    summary = "A server that greylists each sender and recipient"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    greylist = { seconds = 300, reply = "450 4.2.0 Greylisted" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['reader@shop.example']);
    await pass('6 min');
    await send(['reader@shop.example', 'other@shop.example']);
    await pass('6 min');
  },
  account: `
    shop accepted 3 messages from 0:05 to 0:11
      refused 3 × at rcpt: greylist 450 4.2.0 Greylisted from 0:00 to 0:06
    3 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
