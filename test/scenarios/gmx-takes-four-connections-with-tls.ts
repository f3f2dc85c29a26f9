import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail of three teams to GMX uses TLS and never more than four connections at once',
  internet: `
    summary = "GMX that counts connections"
    [[domains]]
    name = "gmx.net"
    provider = "gmx"
    share = 1

    [providers.gmx]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
  `,
  isCrowded: true,
  async run({ scene, send, pass }) {
    const others = [await scene.team(), await scene.team()];
    await send(addresses(8, 'gmx.net'));
    for (const other of others) await send(addresses(8, 'gmx.net'), { team: other });
    await pass('1 min');
  },
  account: `
    gmx accepted 24 messages from 0:00 to 0:00; no more than 4 connections at once, 20 messages on one
    24 emails: queued, sent, delivered
    queue: empty
  `,
};
