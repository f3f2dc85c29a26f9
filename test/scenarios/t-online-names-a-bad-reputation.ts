import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'T-Online refuses two connections because of a bad reputation, and is left alone for two hours',
  internet: `
    summary = "T-Online that has a bad opinion of us"
    [[domains]]
    name = "t-online.de"
    provider = "t-online"
    share = 1

    [providers.t-online]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "greeting", to_minute = 60, reply = "554 IP={ip} - None/bad reputation. Ask your postmaster for help or to contact tobr@rx.t-online.de for reset. (NOWL)" }]
  `,
  config: { providers: { 't-online': { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(6, 't-online.de'));
    await pass('3 min');
    await noteLimits();
    await skip('116 min');
    await pass('3 min');
  },
  account: `
    0:03 limit: t-online suspend until 2:00 because of 554 IP=IP - None/bad reputation. Ask your postmaster for hel
    t-online accepted 6 messages from 2:00 to 2:00; 3 connections, at most 1 at once, 6 messages on one, 6 accepted in a minute
      refused 2 × at greeting: tempfail 554 IP=IP - None/bad reputation. Ask your postmaster for hel from 0:00 to 0:00
    6 emails: queued, sent, delivered
    queue: empty
    limit: t-online rate 20 until 2:05 because of 554 IP=IP - None/bad reputation. Ask your postmaster for hel
  `,
};
