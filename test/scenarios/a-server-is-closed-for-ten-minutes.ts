import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server that closes the connection with 421 keeps its mail waiting, and no recipient is suppressed',
  internet: `
    summary = "A server that is closed for ten minutes"
    [[domains]]
    name = "shop.example"
    provider = "shop"
    share = 1
    [providers.shop]
    hosts = ["mx.shop.example"]
    tempfail = [{ to_minute = 10, stage = "greeting", reply = "421 4.3.2 Service not available, closing transmission channel" }]
  `,
  countsConnections: false,
  async run({ send, pass }) {
    await send(addresses(10, 'shop.example'));
    await pass('22 min', '20 s');
  },
  account: `
    shop accepted 10 messages from 0:21 to 0:21
      refused 3 × at greeting: tempfail 421 4.3.2 Service not available, closing transmission channe from 0:00 to 0:06
    10 emails: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
