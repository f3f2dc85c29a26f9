import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'six tenants of Microsoft 365 with mail servers of their own share ten connections',
  internet: `
    summary = "Tenants of Microsoft 365"
    [[domains]]
    name = "tenant{n}.example"
    provider = "microsoft-365"
    hosts = ["tenant{n}-example.mail.protection.outlook.com"]
    count = 6
    share = 1
    [providers.microsoft-365]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    bounce_later = false
  `,
  isCrowded: true,
  async run({ scene, send, pass }) {
    const others = [await scene.team(), await scene.team()];
    const to = [1, 2, 3, 4, 5, 6].flatMap((tenant) => addresses(1, `tenant${tenant}.example`));
    await send(to);
    for (const other of others) await send(to, { team: other });
    await pass('1 min');
  },
  account: `
    microsoft-365 accepted 18 messages from 0:00 to 0:00; no more than 10 connections at once, 50 messages on one
    18 emails: queued, sent, delivered
    queue: empty
  `,
};
