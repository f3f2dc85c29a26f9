import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a customer of Barracuda quotes a blocklist in each refusal, and mail to other customers is not limited',
  internet: `
    summary = "Two customers of Barracuda, one of which writes its own refusals"
    [[domains]]
    name = "attacker.example"
    provider = "attacker"
    share = 1
    hosts = ["d1.ess.barracudanetworks.com"]
    [[domains]]
    name = "victim.example"
    provider = "victim"
    share = 1
    hosts = ["d2.ess.barracudanetworks.com"]
    [providers.attacker]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "rcpt", reply = "451 temporary failure for one or more recipients (x:451 4.7.1 your IP {ip} is listed at zen.spamhaus.org)" }]
    [providers.victim]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  countsConnections: false,
  async run({ send, pass }) {
    for (let n = 1; n <= 6; n++) await send(addresses(1, 'attacker.example', n));
    await send(addresses(5, 'victim.example'));
    await pass('10 s');
  },
  account: `
    attacker accepted 0 messages
      refused 5 × at rcpt: tempfail 451 temporary failure for one or more recipients (x:451 4.7. from 0:00 to 0:00
    victim accepted 5 messages from 0:00 to 0:00
    5 emails: queued, sent, delivery_delayed
    5 emails: queued, sent, delivered
    1 email: queued
    queue: 1 × attacker.example waiting until 1:00 after 0 attempts: not tried
    queue: 5 × attacker.example retrying until 0:01 after 1 attempt: 451 temporary failure for one or more recipients (x:451 4.7.
    limit: d1.ess.barracudanetworks.com suspend until 1:00 because of 451 temporary failure for one or more recipients (x:451 4.7.
  `,
};
