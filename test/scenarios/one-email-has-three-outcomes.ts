import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an email to three recipients of one domain arrives at one, bounces for one, and waits for one',
  internet: `
    summary = "A server with an unknown recipient and a full mailbox"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    unknown = { local_parts = ["gone"], reply = "550 5.1.1 User unknown" }
    full = { local_parts = ["full"], reply = "452 4.2.2 Mailbox is full" }
  `,
  countsConnections: false,
  async run({ internet, send, pass, change, note }) {
    const to = ['reader@shop.example', 'gone@shop.example', 'full@shop.example'];
    await send(['reader@shop.example'], { email: { to } });
    await pass('2 min');
    change('shop', { full: undefined });
    await pass('5 min');
    note(internet.seen.messages.map(({ recipients }) => recipients.join(' ')).join(', then '));
  },
  account: `
    reader@shop.example, then full@shop.example
    shop accepted 2 messages from 0:00 to 0:06
      refused 1 × at rcpt: unknown 550 5.1.1 User unknown from 0:00 to 0:00
      refused 2 × at rcpt: full 452 4.2.2 Mailbox is full from 0:00 to 0:01
    1 email: queued, sent, delivered, bounced, delivery_delayed, delivered
    suppressed: gone@shop.example (bounce)
    queue: empty
  `,
};
