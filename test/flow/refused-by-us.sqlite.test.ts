// A message that a mail server cannot take is refused by us, on the connection that carried another team's message before.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';

const SIZE = 20_000;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ sink: { size: SIZE } });
});
afterAll(() => scene.close());

interface Attempt {
  mx: string | null;
  recipients: { email: string; outcome: string; reason: string | null }[];
  transcript: string[];
}

async function sender(domain: string): Promise<{ team: Team; send: (to: string, text?: string) => Promise<string> }> {
  const team = await scene.team();
  const { name } = await team.domain(domain);
  const send = async (to: string, text = 'Hello'): Promise<string> => {
    const body = { from: `from@${name}`, to, subject: 'Hello', text };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    await scene.settled();
    return id as string;
  };
  return { team, send };
}

const fetchAttempts = async (team: Team, id: string): Promise<Attempt[]> =>
  (await scene.api('GET', `/emails/${id}/attempts`, { key: team.key })).body.data as Attempt[];

describe.each([
  { what: 'a message over the announced size', to: 'big', text: 'x'.repeat(SIZE * 2), reason: 'too_large' },
  { what: 'an address beyond ASCII', to: 'jörg', text: undefined, reason: 'smtputf8_unsupported' },
])('$what', ({ to, text, reason }) => {
  it.each([
    { where: 'at the same destination', names: ['one', 'one'] },
    { where: 'at another one behind the same host', names: ['two', 'three'] },
  ])('$where is refused without text of the message before it', async ({ names: [before, after] }) => {
    const domain = `${reason.replace('_', '-')}.example`;
    const first = await sender(`first-${before}.${domain}`);
    const second = await sender(`second-${before}.${domain}`);
    await first.send(`private@${before}.${domain}`);
    const { connections, mail } = scene.sink.counts;
    const id = await second.send(`${to}@${after}.${domain}`, text);
    const [attempt] = await fetchAttempts(second.team, id);
    expect(attempt).toMatchObject({ mx: 'mx.sink.test', recipients: [{ outcome: 'bounced', reason }] });
    expect(scene.sink.counts).toMatchObject({ connections, mail });
    const said = attempt?.transcript.join('\n') ?? '';
    expect(said).toMatch(/^S: 220 /);
    expect(said).not.toMatch(/private|first-|MAIL FROM|RCPT TO|Taken/);

    const next = await second.send(`next@${after}.${domain}`);
    expect((await fetchAttempts(second.team, next))[0]?.transcript.join('\n')).toContain(`<next@${after}.${domain}>`);
    expect(scene.sink.counts).toMatchObject({ connections, mail: mail + 1 });
  });
});
