import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'QQ says five times with 550 that the rate is limited, and mail waits for an hour instead of bouncing',
  internet: `
    summary = "QQ that limits a rate"
    [[domains]]
    name = "qq.com"
    provider = "qq"
    share = 1
    hosts = ["mx1.qq.com"]

    [providers.qq]
    addresses = 1
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ to_minute = 30, reply = "550 Ip frequency limited. http://service.mail.qq.com/" }]
  `,
  config: { providers: { qq: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits }) {
    await send(addresses(9, 'qq.com'));
    await pass('10 s');
    await noteLimits();
    await skip('59 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: qq suspend until 1:00 because of 550 Ip frequency limited. http://service.mail.qq.com/
    qq accepted 9 messages from 1:00 to 1:00; 3 connections, at most 1 at once, 7 messages on one, 9 accepted in a minute
      refused 5 × at mail: tempfail 550 Ip frequency limited. http://service.mail.qq.com/ from 0:00 to 0:00
    5 emails: queued, sent, delivery_delayed, delivered
    4 emails: queued, sent, delivered
    queue: empty
    limit: qq rate 20 until 1:05 because of 550 Ip frequency limited. http://service.mail.qq.com/
  `,
};
