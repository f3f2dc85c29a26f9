import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'two Workspace domains with the same mail servers share a connection, and one with fewer servers has its own',
  internet: `
    summary = "Workspace domains"
    [[domains]]
    name = "one.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com", "alt1.aspmx.l.google.com"]
    [[domains]]
    name = "two.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com", "alt1.aspmx.l.google.com"]
    [[domains]]
    name = "three.example"
    provider = "google"
    share = 1
    hosts = ["aspmx.l.google.com"]
    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  async run({ send, note, internet }) {
    await send(addresses(1, 'one.example'));
    note(`${internet.seen.connections.length} connection`);
    await send(addresses(1, 'two.example'));
    note(`${internet.seen.connections.length} connection`);
    await send(addresses(1, 'three.example'));
    note(`${internet.seen.connections.length} connections`);
  },
  account: `
    1 connection
    1 connection
    2 connections
    google accepted 3 messages from 0:00 to 0:00; 2 connections, at most 2 at once, 2 messages on one, 3 accepted in a minute
    3 emails: queued, sent, delivered
    queue: empty
  `,
};
