import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'mail to Yahoo is suspended for two hours after TSS04 without costing attempts, and resumes slowly',
  internet: `
    summary = "Yahoo that defers for some minutes"
    [[domains]]
    name = "yahoo.com"
    provider = "yahoo"
    share = 1
    [providers.yahoo]
    unknown = false
    full = false
    delays = {}
    tempfail = [{ to_minute = 10, stage = "mail", reply = "421 4.7.0 [TSS04] Messages from {ip} temporarily deferred due to unexpected volume or user complaints - 4.16.55.1" }]
  `,
  async run({ send, pass }) {
    await send(addresses(30, 'yahoo.com'));
    await pass('3 h');
  },
  account: '',
};
