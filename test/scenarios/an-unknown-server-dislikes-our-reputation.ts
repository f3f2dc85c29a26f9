import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an unknown server names our reputation five times, and gets no mail for an hour',
  internet: `
    summary = "Two servers, one of which uses a blocklist"
    [[domains]]
    name = "company.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]
    separate = true
    [[domains]]
    name = "club.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.club.example"]
    separate = true

    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { delivery: { max_connections_per_destination: 1, idle_seconds: 60 } },
  async run({ send, pass, skip, noteLimits, change }) {
    change('company.example', {
      tempfail: [{ reply: '450 4.7.1 Client host [{ip}] blocked using zen.spamhaus.org', to_minute: 30 }],
    });
    await send(addresses(8, 'company.example'));
    await send(addresses(4, 'club.example'));
    await pass('5 s');
    await noteLimits();
    await skip('59 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: mx.company.example suspend until 1:00 because of 450 4.7.1 Client host [IP] blocked using zen.spamhaus.org
    company.example accepted 8 messages from 1:00 to 1:00; 2 connections, at most 1 at once, 8 messages on one, 8 accepted in a minute
      refused 5 × at mail: tempfail 450 4.7.1 Client host [IP] blocked using zen.spamhaus.org from 0:00 to 0:00
    club.example accepted 4 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 4 messages on one, 4 accepted in a minute
    7 emails: queued, sent, delivered
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: mx.company.example rate 20 until 1:05 because of 450 4.7.1 Client host [IP] blocked using zen.spamhaus.org
  `,
};
