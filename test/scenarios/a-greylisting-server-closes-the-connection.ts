import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'a server that greylists with 421 gets each message again five minutes later, and the other mail of the team at once',
  internet: `
    summary = "A server that greylists some recipients and closes the connection"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    full = { local_parts = ["new*"], reply = "421 4.7.0 Greylisted, please try again in 300 seconds" }
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(['new1@shop.example', ...addresses(5, 'shop.example'), 'new2@shop.example', 'new3@shop.example']);
    await pass('2 min');
    change('shop', { full: undefined });
    await pass('4 min');
  },
  account: `
    shop accepted 8 messages from 0:00 to 0:05
      refused 3 × at rcpt: full 421 4.7.0 Greylisted, please try again in 300 seconds from 0:00 to 0:00
    5 emails: queued, sent, delivered
    3 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
