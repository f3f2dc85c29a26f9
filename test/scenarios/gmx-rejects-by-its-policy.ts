import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'GMX rejects five messages by its policy, and the others wait for two hours instead of bouncing',
  internet: `
    summary = "GMX that rejects by its policy"
    [[domains]]
    name = "gmx.net"
    provider = "gmx"
    share = 1

    [providers.gmx]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ to_minute = 60, reply = "554 gmx.net Nemesis ESMTP Service not available: Reject due to policy restrictions (IP based)" }]
  `,
  config: { providers: { gmx: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(9, 'gmx.net'));
    await pass('10 s');
    await noteLimits();
    await skip('119 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: gmx suspend until 2:00 because of 554 gmx.net Nemesis ESMTP Service not available: Reject due; limit: gmx rate 1 until 1:00 because of 554 gmx.net Nemesis ESMTP Service not available: Reject due
    gmx accepted 4 messages from 2:00 to 2:00; 2 connections, at most 1 at once, 4 messages on one, 4 accepted in a minute
      refused 5 × at mail: tempfail 554 gmx.net Nemesis ESMTP Service not available: Reject due from 0:00 to 0:00
    5 emails: queued, sent, bounced
    4 emails: queued, sent, delivered
    queue: empty
    limit: gmx rate 20 until 2:05 because of 554 gmx.net Nemesis ESMTP Service not available: Reject due
  `,
};
