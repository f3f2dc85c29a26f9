import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to a full mailbox waits until there is room, and its address is not suppressed',
  internet: `
    summary = "A server with a full mailbox"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    full = { local_parts = ["full"], reply = "452 4.2.2 Mailbox is full" }
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(['full@shop.example', ...addresses(4, 'shop.example')]);
    await pass('10 min', '20 s');
    change('shop', { full: undefined });
    await pass('12 min', '20 s');
  },
  account: `
    shop accepted 5 messages from 0:00 to 0:21
      refused 3 × at rcpt: full 452 4.2.2 Mailbox is full from 0:00 to 0:06
    4 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
