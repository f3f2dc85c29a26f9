import { expect, it } from 'vitest';
import { startScene } from '../rig/scene.ts';
import { startSink } from '../rig/sink.ts';
import { mailIn } from './mail.ts';

it('two hundred domains of one silent mail server prevent nobody else from sending', async () => {
  await using scene = await startScene();
  const silent = await startSink({ host: '127.0.3.1', port: scene.sink.port, greeting: 'silent' });
  try {
    scene.dns.set('mx.silent.test', 'A', ['127.0.3.1']);
    const crowd = await mailIn(scene);
    const other = await mailIn(scene);
    for (let batch = 0; batch < 2; batch++) {
      const body = Array.from({ length: 100 }, (_, n) => {
        const name = `silent${batch * 100 + n}.example`;
        scene.dns.set(name, 'MX', ['10 mx.silent.test']);
        return { from: `a@${crowd.domain.name}`, to: [`x@${name}`], subject: 'Hello', text: 'It works.' };
      });
      expect((await scene.api('POST', '/emails/batch', { key: crowd.team.key, body })).status).toBe(200);
    }
    await silent.waitFor((sink) => sink.counts.connections > 0);
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_, n) => other.send([`y${n}@one.example`, `y${n}@two.example`])),
    );
    await scene.sink.waitFor(20);
    expect(silent.counts.connections).toBeLessThanOrEqual(2);
    for (const id of ids) await untilDelivered(() => other.account(id));
  } finally {
    await silent.close();
  }
});

async function untilDelivered(account: () => Promise<{ state: string; waiting: string[] }>): Promise<void> {
  for (;;) {
    const { state, waiting } = await account();
    if (state === 'delivered' && waiting.length === 0) return;
  }
}
