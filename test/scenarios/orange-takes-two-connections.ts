import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail of three teams to Orange never uses more than two connections at once',
  internet: `
    summary = "Orange that counts connections"
    [[domains]]
    name = "orange.fr"
    provider = "orange"
    share = 1

    [providers.orange]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
  `,
  isCrowded: true,
  async run({ scene, send, pass }) {
    const others = [await scene.team(), await scene.team()];
    await send(addresses(5, 'orange.fr'));
    for (const other of others) await send(addresses(5, 'orange.fr'), { team: other });
    await pass('1 min');
  },
  account: `
    orange accepted 15 messages from 0:00 to 0:00; no more than 2 connections at once, 100 messages on one
    15 emails: queued, sent, delivered
    queue: empty
  `,
};
