import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'MX records in upper case and with a dot at the end mean the same servers of Google',
  internet: `
    summary = "A Workspace domain"
    [[domains]]
    name = "one.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com"]
    [[domains]]
    name = "two.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com"]
    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
  `,
  config: { delivery: { idle_seconds: 60 }, providers: { google: { connections: 1 } } },
  async run({ scene, send, pass }) {
    scene.dns.set('two.example', 'MX', ['10 ASPMX.L.GOOGLE.COM.']);
    await send(addresses(6, 'one.example'));
    await send(addresses(6, 'two.example'));
    await pass('30 s');
  },
  account: `
    google accepted 12 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 12 messages on one, 12 accepted in a minute
    12 emails: queued, sent, delivered
    queue: empty
  `,
};
