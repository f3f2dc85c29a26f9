import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'mail to an address beyond ASCII bounces at a server without SMTPUTF8, suppresses nobody, and arrives once the server has it',
  internet: `
    summary = "A server without SMTPUTF8"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    extensions = ["PIPELINING", "8BITMIME"]
  `,
  countsConnections: false,
  async run({ send, pass, change }) {
    await send(['jürgen@shop.example', 'juergen@shop.example']);
    change('shop', { extensions: ['PIPELINING', '8BITMIME', 'SMTPUTF8'] });
    await pass('1 min');
    await send(['jürgen@shop.example']);
  },
  account: `
    shop accepted 2 messages from 0:00 to 0:01
    2 emails: queued, sent, delivered
    1 email: queued, sent, bounced
    queue: empty
  `,
};
