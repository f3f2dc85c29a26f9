import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a domain with one mail server at Google and one elsewhere has not the limits of Gmail',
  internet: `
    summary = "A Workspace domain, and one with a server of its own"
    [[domains]]
    name = "workspace.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com"]
    [[domains]]
    name = "mixed.example"
    provider = "own-server"
    share = 1
    hosts = ["alt1.aspmx.l.google.com", "mx.mixed.example"]
    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 1500 }
  `,
  config: { delivery: { idle_seconds: 60 }, providers: { google: { connections: 1 } } },
  async run({ send, pass }) {
    await send(addresses(12, 'workspace.example'));
    await send(addresses(4, 'mixed.example'));
    await pass('30 s');
  },
  account: `
    google accepted 12 messages from 0:00 to 0:00; 2 connections, at most 1 at once, 10 messages on one, 12 accepted in a minute
    own-server accepted 4 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 4 messages on one, 4 accepted in a minute
    16 emails: queued, sent, delivered
    queue: empty
  `,
};
