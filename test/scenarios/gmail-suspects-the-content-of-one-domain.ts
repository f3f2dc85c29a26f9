import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'Gmail suspects the content of mail five times, and mail from that domain waits for an hour while others are delivered',
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
    tempfail = [{ stage = "dot", reply = "450 4.7.0 Our system has detected that this message is suspicious due to the nature of the content and/or the links within." }]
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ scene, send, pass, skip, noteLimits, change, note, internet }) {
    const other = await scene.team();
    await send(addresses(8, 'gmail.com'));
    await noteLimits();
    change('google', { tempfail: [] });
    await send(addresses(6, 'gmail.com', 101), { team: other });
    note(`${internet.seen.messages.length} messages of the other sending domain accepted at once`);
    await skip('59 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: google suspend for one sending domain until 1:00 because of 450 4.7.0 Our system has detected that this message is suspi
    6 messages of the other sending domain accepted at once
    google accepted 14 messages from 0:00 to 1:00; 2 connections, at most 1 at once, 8 messages on one, 8 accepted in a minute
      refused 5 × at dot: tempfail 450 4.7.0 Our system has detected that this message is suspi from 0:00 to 0:00
    9 emails: queued, sent, delivered
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: google rate 20 for one sending domain until 1:05 because of 450 4.7.0 Our system has detected that this message is suspi
  `,
};
