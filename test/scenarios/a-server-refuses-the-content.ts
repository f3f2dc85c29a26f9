import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail whose content a server refuses bounces, suppresses nobody, and the next mail is sent all the same',
  internet: `
    summary = "A server that takes our mail for spam"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tempfail = [{ stage = "dot", reply = "550 5.7.1 Message rejected as spam" }]
  `,
  countsConnections: false,
  async run({ send, change }) {
    await send(addresses(3, 'shop.example'));
    change('shop', { tempfail: undefined });
    await send(addresses(3, 'shop.example'));
  },
  account: `
    shop accepted 3 messages from 0:00 to 0:00
      refused 3 × at dot: tempfail 550 5.7.1 Message rejected as spam from 0:00 to 0:00
    3 emails: queued, sent, bounced
    3 emails: queued, sent, delivered
    queue: empty
  `,
};
