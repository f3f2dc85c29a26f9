import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());

async function send(team: Team, domain: { name: string }, ...to: string[]): Promise<string> {
  const body = { from: `a@${domain.name}`, to, subject: 'Hello', text: 'Hello' };
  const answer = await scene.api('POST', '/emails', { key: team.key, body });
  expect(answer.status).toBe(200);
  await scene.settled();
  return answer.body.id as string;
}
const suppressions = async (team: Team) => (await scene.api('GET', '/suppressions', { key: team.key })).body.data;
const suppress = (team: Team, email: string) => scene.api('POST', '/suppressions', { key: team.key, body: { email } });
const received = () => scene.sink.messages.flatMap((message) => message.rcptTo);
const loadData = async (emailId: string, type: string) =>
  (await scene.events(emailId)).filter((event) => event.type === type).map((event) => event.data);

describe('a suppressed recipient', () => {
  it('gets nothing and is reported, in any letter case, while other recipients are served', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await suppress(team, 'Stop@quiet.example');
    const id = await send(team, domain, 'stop@QUIET.example', 'go@quiet.example', 'go@loud.example');
    expect(received().filter((address) => /stop/i.test(address))).toEqual([]);
    expect(received()).toEqual(expect.arrayContaining(['go@quiet.example', 'go@loud.example']));
    const account = await scene.account(team, id);
    expect(account.events.toSorted()).toEqual(
      ['email.queued', 'email.sent', 'email.suppressed', 'email.delivered', 'email.delivered'].toSorted(),
    );
    expect(await loadData(id, 'email.suppressed')).toEqual([
      {
        to: ['stop@quiet.example'],
        suppressed: expect.objectContaining({
          reason: 'manual',
          type: 'Suppressed',
          diagnosticCode: expect.any(Array),
        }),
      },
    ]);
  });

  it('as the only one means that the email is not sent', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await suppress(team, 'only@alone.example');
    const id = await send(team, domain, 'only@alone.example');
    expect(await scene.account(team, id)).toEqual({
      state: 'suppressed',
      events: ['email.queued', 'email.suppressed'],
    });
    expect(scene.dns.queries.filter(({ name }) => name.endsWith('alone.example'))).toEqual([]);
    expect(received()).not.toContain('only@alone.example');
  });

  it('is checked when the email is due, not when it was accepted', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const scheduledAt = new Date(scene.clock.now() + 600_000).toISOString();
    const body = { from: `a@${domain.name}`, to: 'late@turn.example', subject: 'Hello', text: 'Hello' };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body: { ...body, scheduled_at: scheduledAt } }))
      .body;
    await suppress(team, 'late@turn.example');
    scene.clock.advance(600_000);
    await scene.settled();
    expect((await scene.account(team, id)).state).toBe('suppressed');
  });

  it('gets mail again once the suppression is removed', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    await suppress(team, 'back@again.example');
    await scene.api('DELETE', '/suppressions/back@again.example', { key: team.key });
    const id = await send(team, domain, 'back@again.example');
    expect((await scene.account(team, id)).state).toBe('delivered');
  });

  it('is suppressed for its own team only', async () => {
    const team = await scene.team();
    const other = await scene.team();
    await suppress(team, 'shared@both.example');
    const id = await send(other, await other.domain(), 'shared@both.example');
    expect((await scene.account(other, id)).state).toBe('delivered');
  });
});

describe('a hard bounce', () => {
  it('suppresses the address with the email as the cause, and the next send is not tried', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const id = await send(team, domain, 'permfail@bounce.example', 'fine@bounce.example');
    const [entry, ...others] = await suppressions(team);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ email: 'permfail@bounce.example', origin: 'bounce', source_id: id });
    expect((await scene.events(entry.id)).map((event) => event.type)).toEqual(['suppression.added']);
    const tried = scene.sink.commands.filter((line) => line.includes('permfail@bounce.example')).length;
    const again = await send(team, domain, 'PERMFAIL@bounce.example');
    expect((await scene.account(team, again)).state).toBe('suppressed');
    expect(await loadData(again, 'email.suppressed')).toMatchObject([{ suppressed: { reason: 'previous_bounce' } }]);
    expect(scene.sink.commands.filter((line) => /permfail@bounce\.example/i.test(line))).toHaveLength(tried);
  });

  it('does not change an address that was suppressed by hand', async () => {
    const team = await scene.team();
    const domain = await team.domain();
    const sent = await scene.api('POST', '/emails', {
      key: team.key,
      body: {
        from: `a@${domain.name}`,
        to: ['permfail@hand.example', 'slow-rcpt@hand.example'],
        subject: 'Hello',
        text: 'Hello',
      },
    });
    expect(sent.status).toBe(200);
    await scene.sink.waitFor((sink) => sink.commands.some((line) => line.includes('slow-rcpt@hand.example')));
    await suppress(team, 'permfail@hand.example');
    scene.sink.openGate();
    await scene.settled();
    expect(await loadData(sent.body.id, 'email.bounced')).toHaveLength(1);
    expect(await suppressions(team)).toMatchObject([
      { email: 'permfail@hand.example', origin: 'manual', source_id: null },
    ]);
  });

  it.each(['tempfail@soft.example', '552-mailbox-full@soft.example', '554-spam@soft.example'])(
    'is not caused by %s, and the address is not suppressed',
    async (to) => {
      const team = await scene.team();
      const domain = await team.domain();
      await send(team, domain, to);
      expect(await suppressions(team)).toEqual([]);
    },
  );
});

describe('the mailbox simulator', () => {
  it.each(['bounced', 'complained', 'suppressed'])('never suppresses %s@ because of its answer', async (local) => {
    const team = await scene.team();
    const domain = await team.domain();
    const address = `${local}+label@simulator.rasket.test`;
    const states = [];
    for (let n = 0; n < 2; n++) states.push((await scene.account(team, await send(team, domain, address))).state);
    expect(states).toEqual([local, local]);
    expect(await suppressions(team)).toEqual([]);
  });
});
