import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'an operator allows Outlook.com one connection and thirty messages a minute',
  internet: `
    summary = "Outlook.com"
    [[domains]]
    name = "outlook.com"
    provider = "microsoft-consumer"
    share = 1

    [providers.microsoft-consumer]
    unknown = false
    full = false
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    complain_later = false
  `,
  config: { providers: { 'microsoft-consumer': { connections: 1, messages_per_minute: 30, idle_seconds: 120 } } },
  async run({ send, pass, note, internet }) {
    await send(addresses(15, 'outlook.com'));
    await pass('20 s');
    const { length } = internet.seen.messages;
    note(
      `${length <= 11 ? 'no more' : 'more'} than eleven messages in twenty seconds, and ${length >= 5 ? 'no less' : 'less'} than five`,
    );
    await pass('40 s');
  },
  account: `
    no more than eleven messages in twenty seconds, and no less than five
    microsoft-consumer accepted 15 messages from 0:00 to 0:00; 1 connection, at most 1 at once, 15 messages on one, 15 accepted in a minute
    15 emails: queued, sent, delivered
    queue: empty
  `,
};
