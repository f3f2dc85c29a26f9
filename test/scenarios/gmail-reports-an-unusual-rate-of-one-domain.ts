import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Gmail reports an unusual rate of a DKIM domain twice, and only mail from that domain is limited',
  internet: `
    summary = "Gmail that dislikes what it gets at first"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "dot", reply = "450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your DKIM domain [example.com]." }]
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  countsConnections: false,
  async run({ scene, send, pass, noteLimits, change, note, internet }) {
    const other = await scene.team();
    await send(addresses(8, 'gmail.com'));
    await noteLimits();
    change('google', { tempfail: [] });
    await send(addresses(6, 'gmail.com', 101), { team: other });
    note(`${internet.seen.messages.length} messages of the other sending domain accepted at once`);
    await pass('2 min');
  },
  account: `
    0:00 limit: google rate 10 for one sending domain until 0:30 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    6 messages of the other sending domain accepted at once
    google accepted 11 messages from 0:00 to 0:00
      refused 3 × at dot: tempfail 450 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    11 emails: queued, sent, delivered
    3 emails: queued, sent, delivery_delayed
    queue: 3 × gmail.com retrying until 0:30 after 1 attempt: 450 4.7.28 Gmail has detected an unusual rate of unsolicited
    limit: google rate 10 for one sending domain until 0:30 because of 450 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
