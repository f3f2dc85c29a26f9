import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a domain with one server of La Poste and one of its own counts for the rate and the connections of La Poste',
  internet: `
    summary = "La Poste, and a domain that also has a server of its own"
    [[domains]]
    name = "laposte.net"
    provider = "laposte"
    share = 1
    hosts = ["smtpz4.laposte.net"]
    [[domains]]
    name = "mixed.example"
    provider = "laposte"
    share = 1
    hosts = ["smtpz4.laposte.net", "mx.mixed.example"]
    [providers.laposte]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
  `,
  countsConnections: false,
  config: { providers: { laposte: { idle_seconds: 120 } } },
  async run({ send, pass, note, internet }) {
    await send(addresses(40, 'laposte.net'));
    await send(addresses(40, 'mixed.example'));
    await pass('60 s');
    const { length } = internet.seen.messages;
    note(
      `${length <= 60 ? 'no more' : 'more'} than sixty messages in a minute, and ${length >= 30 ? 'no less' : 'less'} than thirty`,
    );
    await pass('4 min');
  },
  account: `
    no more than sixty messages in a minute, and no less than thirty
    laposte accepted 80 messages from 0:00 to 0:02
    80 emails: queued, sent, delivered
    queue: empty
  `,
};
