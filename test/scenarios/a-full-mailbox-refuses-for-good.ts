import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail that a full mailbox refuses for good bounces, and the next mail to the address is sent all the same',
  internet: `
    summary = "A server that refuses mail to a full mailbox for good"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    full = { local_parts = ["full"], reply = "552 5.2.2 Mailbox is full" }
  `,
  countsConnections: false,
  async run({ send, change }) {
    await send(['full@shop.example']);
    change('shop', { full: undefined });
    await send(['full@shop.example']);
  },
  account: `
    shop accepted 1 message from 0:00 to 0:00
      refused 1 × at rcpt: full 552 5.2.2 Mailbox is full from 0:00 to 0:00
    1 email: queued, sent, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
