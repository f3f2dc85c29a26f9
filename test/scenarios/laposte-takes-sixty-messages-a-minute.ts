import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'La Poste never gets more than sixty messages a minute',
  internet: `
    summary = "La Poste that counts messages"
    [[domains]]
    name = "laposte.net"
    provider = "laposte"
    share = 1

    [providers.laposte]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  config: { providers: { laposte: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, note, internet }) {
    await send(addresses(30, 'laposte.net'));
    await pass('20 s');
    const { length } = internet.seen.messages;
    note(
      `${length <= 21 ? 'no more' : 'more'} than 21 messages in twenty seconds, and ${length >= 10 ? 'no less' : 'less'} than ten`,
    );
    await pass('40 s');
  },
  account: `
    no more than 21 messages in twenty seconds, and no less than ten
    laposte accepted 30 messages from 0:00 to 0:00; 2 connections, at most 1 at once, 20 messages on one, 30 accepted in a minute
    30 emails: queued, sent, delivered
    queue: empty
  `,
};
