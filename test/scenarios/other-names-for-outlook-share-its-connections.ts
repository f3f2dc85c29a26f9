import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'domains with names of their own for a mail server of Outlook.com share its five connections',
  internet: `
    summary = "Outlook.com under other names"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1
    [[domains]]
    name = "one.example"
    provider = "microsoft-consumer"
    share = 1
    hosts = ["mx.one.example"]
    [[domains]]
    name = "two.example"
    provider = "microsoft-consumer"
    share = 1
    hosts = ["mx.two.example"]
    [providers.microsoft-consumer]
    addresses = 1
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    complain_later = false
  `,
  isCrowded: true,
  async run({ scene, send, pass }) {
    await send(addresses(1, 'outlook.com'));
    await pass('1 s');
    const others = [await scene.team(), await scene.team()];
    await send(addresses(6, 'one.example'), { team: others[0] });
    await send(addresses(6, 'two.example'), { team: others[1] });
    await send(addresses(6, 'outlook.com'));
    await pass('1 min');
  },
  account: `
    microsoft-consumer accepted 19 messages from 0:00 to 0:00; no more than 5 connections at once, 50 messages on one
    19 emails: queued, sent, delivered
    queue: empty
  `,
};
