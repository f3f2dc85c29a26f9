import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { connect, logIn, plainToken, replay, type Way } from './dialogue.ts';
import { clearTranscripts, transcripts, type Transcript } from './submission-transcripts.ts';

let scene: Scene;
let inClear: Scene;
const teams = new Map<Scene, { team: Team; from: string }>();

beforeAll(async () => {
  const roles = ['http', 'delivery', 'submission'] as const;
  scene = await startScene({ roles });
  inClear = await startScene({ roles, config: { submission: { ports: [0], tls_ports: [], insecure_login: true } } });
  for (const each of [scene, inClear]) {
    const team = await each.team();
    teams.set(each, { team, from: `me@${(await team.domain()).name}` });
  }
});
afterAll(async () => {
  await scene.close();
  await inClear.close();
});

async function play(on: Scene, way: Way, { script, isBare }: Transcript): Promise<string[]> {
  const { team, from } = teams.get(on) ?? {};
  const key = team?.key ?? '';
  const filled = script
    .replaceAll('{from}', from ?? '')
    .replaceAll('{plain}', plainToken(key))
    .replaceAll('{plain-as-rasket}', plainToken(key, 'rasket', 'rasket'))
    .replaceAll('{plain-as-other}', plainToken(key, 'rasket', 'other'))
    .replaceAll('{user64}', Buffer.from('resend').toString('base64'))
    .replaceAll('{key64}', Buffer.from(key).toString('base64'))
    .replaceAll('{long}', 'x'.repeat(257));
  const dialogue = await connect(on, way);
  if (!isBare) await logIn(dialogue, key);
  const wrong = await replay(dialogue, filled);
  dialogue.end();
  return wrong;
}

describe.each([
  { way: 'starttls' as const, on: () => scene },
  { way: 'tls' as const, on: () => scene },
  { way: 'plain' as const, on: () => inClear },
])('over $way,', ({ way, on }) => {
  const played = transcripts.filter(({ ways }) => !ways || (ways as readonly Way[]).includes(way));

  it('at least forty dialogues are tested', () => expect(played.length).toBeGreaterThanOrEqual(40));

  it.each(played)('the dialogue “$why” gets the expected replies', async (transcript) => {
    expect(await play(on(), way, transcript)).toEqual([]);
  });
});

describe('in clear text, where a login needs TLS,', () => {
  it.each(clearTranscripts)('the dialogue “$why” gets the expected replies', async (transcript) => {
    expect(await play(scene, 'plain', transcript)).toEqual([]);
  });
});
