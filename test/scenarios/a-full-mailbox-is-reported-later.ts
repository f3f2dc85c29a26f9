import type { Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a report that a mailbox is full bounces the mail and suppresses nobody',
  internet: `
    summary = "A server that reports full mailboxes later"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    bounce_later = { local_parts = ["full"], after_minutes = [10, 10], status = "4.2.2", diagnostic = "smtp; 452 4.2.2 Mailbox full" }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(['full@shop.example']);
    await pass('11 min', '20 s');
    await send(['full@shop.example']);
  },
  account: `
    shop accepted 2 messages from 0:00 to 0:11
    reports: 1 × bounce delivered
    reports: 1 × bounce waiting
    1 email: queued, sent, delivered, bounced
    1 email: queued, sent, delivered
    queue: empty
  `,
};
