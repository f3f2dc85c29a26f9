import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'two reports of an unusual rate by Gmail that are more than an hour apart limit nothing',
  internet: `
    summary = "Gmail that reports an unusual rate now and then"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1

    [providers.google]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "dot", reply = "450 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address." }]
  `,
  config: { providers: { google: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, change, note, internet }) {
    await send(addresses(1, 'gmail.com'));
    change('google', { tempfail: [] });
    await skip('29 min');
    await pass('2 min');
    note(`${internet.seen.messages.length} accepted when it was tried again`);
    await skip('30 min');
    change('google', { tempfail: [{ stage: 'dot', reply: internet.seen.refusals[0]?.reply ?? '' }] });
    await send(addresses(1, 'gmail.com', 2));
    change('google', { tempfail: [] });
    await send(addresses(5, 'gmail.com', 3));
    note(`${internet.seen.messages.length} accepted at once in the end`);
  },
  account: `
    1 accepted when it was tried again
    6 accepted at once in the end
    google accepted 6 messages from 0:30 to 1:01; 3 connections, at most 1 at once, 5 messages on one, 5 accepted in a minute
      refused 2 × at dot: tempfail 450 4.7.28 Gmail has detected an unusual rate of unsolicited from 0:00 to 1:01
    5 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    1 email: queued, sent, delivery_delayed
    queue: 1 × gmail.com retrying until 1:31 after 1 attempt: 450 4.7.28 Gmail has detected an unusual rate of unsolicited
  `,
};
