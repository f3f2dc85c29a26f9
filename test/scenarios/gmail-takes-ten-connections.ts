import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail of three teams to Gmail never uses more than ten connections at once',
  internet: `
    summary = "Gmail that counts connections"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
  `,
  isCrowded: true,
  async run({ scene, send, pass, note, internet }) {
    const others = [await scene.team(), await scene.team()];
    await send(addresses(12, 'gmail.com'));
    for (const other of others) await send(addresses(12, 'gmail.com'), { team: other });
    await pass('1 min');
    note(internet.seen.maxConnections() > 6 ? 'more than six were used' : 'no more than six were used');
  },
  account: `
    more than six were used
    google accepted 36 messages from 0:00 to 0:00; no more than 10 connections at once, 50 messages on one
    36 emails: queued, sent, delivered
    queue: empty
  `,
};
