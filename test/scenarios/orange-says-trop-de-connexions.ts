import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Orange says "Trop de connexions" twice, and gets one connection at a time',
  internet: `
    summary = "Orange that takes one connection"
    [[domains]]
    name = "orange.fr"
    provider = "orange"
    share = 1

    [providers.orange]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    connections = { max = 1 }
    rates = []
  `,
  config: { delivery: { idle_seconds: 60 } },
  async run({ send, pass, noteLimits, note, internet }) {
    await send(addresses(6, 'orange.fr'));
    await pass('30 s');
    await send(addresses(6, 'orange.fr', 11));
    await pass('2 min');
    await noteLimits();
    const { length } = internet.seen.refusals;
    await send(addresses(6, 'orange.fr', 21));
    await pass('30 s');
    note(`${internet.seen.refusals.length - length} more refusals`);
  },
  account: `
    0:02 limit: orange connections 1 until 1:00 because of 421 smtp-in.orange.fr ME Trop de connexions, veuillez verifi
    0 more refusals
    orange accepted 18 messages from 0:00 to 0:02; 4 connections, at most 2 at once, 12 messages on one, 12 accepted in a minute
      refused 2 × at greeting: connections 421 smtp-in.orange.fr ME Trop de connexions, veuillez verifi from 0:00 to 0:00
    18 emails: queued, sent, delivered
    queue: empty
    limit: orange connections 1 until 1:00 because of 421 smtp-in.orange.fr ME Trop de connexions, veuillez verifi
  `,
};
