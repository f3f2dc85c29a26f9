import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title:
    'Gmail gets ten messages a minute for half an hour after it reports an unusual rate twice, and more in steps afterwards',
  internet: `
    summary = "Gmail that limits messages per minute"
    [[domains]]
    name = "gmail.com"
    provider = "google"
    share = 1
    [providers.google]
    unknown = false
    full = false
    delays = {}
    [[providers.google.rates]]
    of = "messages"
    max = 20
    stage = "dot"
    reply = "421-4.7.28 Gmail has detected an unusual rate of unsolicited mail\\n421 4.7.28 rehearsal - gsmtp"
  `,
  async run({ send, pass }) {
    await send(addresses(60, 'gmail.com'));
    await pass('2 h');
  },
  account: '',
};
