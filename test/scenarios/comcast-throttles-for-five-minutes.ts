import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'Comcast throttles once, gets no mail for five minutes, and then twice as much every five minutes',
  internet: `
    summary = "Comcast that throttles"
    [[domains]]
    name = "comcast.net"
    provider = "comcast"
    share = 1
    hosts = ["mx1.comcast.net"]

    [providers.comcast]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ to_minute = 3, reply = "421 4.1.0 {ip} Throttled - see http://postmaster.comcast.net/smtp-error-codes.php#RL000010" }]
  `,
  config: { providers: { comcast: { connections: 1, idle_seconds: 120 } } },
  async run({ send, pass, skip, noteLimits, note, internet }) {
    await send(addresses(10, 'comcast.net'));
    await pass('5 s');
    await noteLimits();
    await pass('315 s');
    const isSlow = internet.seen.messages.length <= 7;
    note(`${isSlow ? 'no more' : 'more'} than seven messages twenty seconds after the suspension`);
    await pass('40 s');
    for (let step = 1; step <= 6; step++) {
      await noteLimits();
      await skip('5 min');
    }
  },
  account: `
    0:00 limit: comcast suspend until 0:05 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    no more than seven messages twenty seconds after the suspension
    0:06 limit: comcast rate 20 until 0:10 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    0:11 limit: comcast rate 40 until 0:15 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    0:16 limit: comcast rate 80 until 0:20 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    0:21 limit: comcast rate 160 until 0:25 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    0:26 limit: comcast rate 320 until 0:30 because of 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s
    0:31 no limit
    comcast accepted 10 messages from 0:05 to 0:05; 2 connections, at most 1 at once, 10 messages on one, 10 accepted in a minute
      refused 1 × at mail: tempfail 421 4.1.0 IP Throttled - see http://postmaster.comcast.net/s from 0:00 to 0:00
    9 emails: queued, sent, delivered
    1 email: queued, sent, delivery_delayed, delivered
    queue: empty
  `,
};
