import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'NetEase suspects spam from one domain five times, and mail from another is delivered',
  internet: `
    summary = "NetEase that suspects spam"
    [[domains]]
    name = "163.com"
    provider = "netease"
    share = 1
    hosts = ["163mx01.mxmail.netease.com"]

    [providers.netease]
    delays = { greeting_ms = 0, mail_ms = 0, rcpt_ms = 0, dot_ms = 0 }
    tempfail = [{ stage = "dot", to_minute = 1, reply = "451 DT:SPM ,please try again" }]
  `,
  config: { providers: { netease: { connections: 1, idle_seconds: 120 } } },
  async run({ scene, send, pass, skip, noteLimits, change, note, internet }) {
    const other = await scene.team();
    await send(addresses(8, '163.com'));
    await noteLimits();
    change('netease', { tempfail: [] });
    await send(addresses(3, '163.com', 11), { team: other });
    note(`${internet.seen.messages.length} messages of the other sending domain accepted at once`);
    await skip('14 min');
    await pass('2 min');
  },
  account: `
    0:00 limit: netease suspend for one sending domain until 0:15 because of 451 DT:SPM ,please try again
    3 messages of the other sending domain accepted at once
    netease accepted 11 messages from 0:00 to 0:15; 4 connections, at most 1 at once, 7 messages on one, 8 accepted in a minute
      refused 5 × at dot: tempfail 451 DT:SPM ,please try again from 0:00 to 0:00
    6 emails: queued, sent, delivered
    5 emails: queued, sent, delivery_delayed, delivered
    queue: empty
    limit: netease rate 20 for one sending domain until 0:20 because of 451 DT:SPM ,please try again
  `,
};
