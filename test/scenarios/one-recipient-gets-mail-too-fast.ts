import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a recipient who gets mail too fast waits, and all others get theirs at once',
  internet: `
    summary = "A server that limits the mail of one recipient"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    full = { local_parts = ["busy"], reply = "450 4.2.1 The user is receiving mail at a rate that prevents more" }
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(['busy@shop.example', ...addresses(10, 'shop.example')]);
    await pass('10 min', '20 s');
    change('shop', { full: undefined });
    await pass('12 min', '20 s');
  },
  account: `
    shop accepted 11 messages from 0:00 to 0:21
      refused 3 × at rcpt: full 450 4.2.1 The user is receiving mail at a rate that prevents from 0:00 to 0:06
    10 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
