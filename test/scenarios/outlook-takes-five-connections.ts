import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail of three teams to Outlook.com never uses more than five connections at once',
  internet: `
    summary = "Outlook.com that counts connections"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1
    [[domains]]
    name = "hotmail.com"
    provider = "microsoft-consumer"
    share = 1
    hosts = ["hotmail-com.olc.protection.outlook.com"]
    [providers.microsoft-consumer]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    complain_later = false
  `,
  isCrowded: true,
  async run({ scene, send, pass }) {
    const others = [await scene.team(), await scene.team()];
    await send(addresses(6, 'outlook.com'));
    await send(addresses(6, 'hotmail.com'), { team: others[0] });
    await send(addresses(6, 'hotmail.com'), { team: others[1] });
    await pass('1 min');
  },
  account: `
    microsoft-consumer accepted 18 messages from 0:00 to 0:00; no more than 5 connections at once, 50 messages on one
    18 emails: queued, sent, delivered
    queue: empty
  `,
};
