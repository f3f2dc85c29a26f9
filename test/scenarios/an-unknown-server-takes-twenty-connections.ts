import { addresses, type Scenario } from '../rig/scenario.ts';

export const scenario: Scenario = {
  title: 'a server of no known provider gets few connections at first and never more than twenty',
  internet: `
    summary = "A server of a company"
    [[domains]]
    name = "company.example"
    provider = "own-server"
    share = 1
    hosts = ["mx.company.example"]
    [providers.own-server]
    unknown = false
    full = false
    delays = { greeting_ms = 100, mail_ms = 0, rcpt_ms = 0, dot_ms = 500 }
    connections = { max = 20, reply = "421 4.7.0 Too many connections" }
  `,
  isCrowded: true,
  async run({ scene, send, pass, note, internet }) {
    const others = [await scene.team(), await scene.team()];
    await send(addresses(22, 'company.example'));
    await pass('1 s');
    note(`${internet.seen.maxConnections()} connections before the first message was accepted`);
    for (const other of others) await send(addresses(12, 'company.example'), { team: other });
    await pass('1 min');
    note(internet.seen.maxConnections() > 14 ? 'more than fourteen were used' : 'no more than fourteen were used');
  },
  account: `
    4 connections before the first message was accepted
    more than fourteen were used
    own-server accepted 46 messages from 0:00 to 0:00; no more than 20 connections at once
    46 emails: queued, sent, delivered
    queue: empty
  `,
};
