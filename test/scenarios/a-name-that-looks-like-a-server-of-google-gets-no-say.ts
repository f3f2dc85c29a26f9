import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server named like one of Google reports an unusual rate, and mail to Gmail is not limited',
  internet: `
    summary = "Gmail, and a server with a similar name"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1
    [[domains]]
    name = "attacker.example"
    provider = "own-server"
    share = 1
    hosts = ["aspmx.l.google.com.attacker.example"]
    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ reply = "451 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address." }]
  `,
  config: { delivery: { idle_seconds: 60 } },
  async run({ send, pass }) {
    await send(addresses(10, 'attacker.example'));
    await send(addresses(20, 'gmail.com'));
    await pass('30 s');
  },
  account: `
    google accepted 20 messages from 0:00 to 0:00; 8 connections, at most 8 at once, 4 messages on one, 20 accepted in a minute
    own-server accepted 0 messages; 6 connections, at most 6 at once, 0 messages on one, 0 accepted in a minute
      refused 10 × at mail: tempfail 451 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 0:00
    20 emails: queued, sent, delivered
    10 emails: queued, sent, delivery_delayed
    queue: 10 × attacker.example retrying until 0:30 after 1 attempt: 451 4.7.28 Gmail has detected an unusual rate of unsolicited
    limit: aspmx.l.google.com.attacker.example connections 1 until 0:30 because of 451 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
