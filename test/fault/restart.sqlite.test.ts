// clients --> rasket serve (stopped and started again, as systemctl restart does) --> sink
import { expect, it, onTestFinished } from 'vitest';
import { startSink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const SENDS = 60;
const RESTARTS = 2;
const CLIENTS = 8;

it(
  'a restart under load keeps every acknowledged message, sends none twice and leaves none in doubt',
  { timeout: 300_000 },
  async () => {
    const arrivals = new Map<string, number>();
    const acknowledged = new Set<string>();
    const unknown: string[] = [];
    let stir = (): void => undefined;
    const sink = await startSink({
      keep: false,
      onMessage(message) {
        const id = /^message-id: *<([^@]+)@/im.exec(message.data.toString('latin1'))?.[1] ?? 'no Message-ID';
        arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
        stir();
      },
    });
    onTestFinished(() => sink.close());
    const program = await installProgram(sink, (line) => {
      if (line.msg === 'delivery outcome unknown') unknown.push(String(line.emailId));
    });

    async function restartAfter(count: number): Promise<void> {
      await until(() => acknowledged.size >= count);
      await program.stop();
      await program.start();
    }
    const until = (isSo: () => boolean): Promise<void> =>
      new Promise((done) => {
        const before = stir;
        stir = () => {
          before();
          if (isSo()) done();
        };
        stir();
      });

    const restarts = (async () => {
      for (let n = 1; n <= RESTARTS; n++) await restartAfter(Math.floor((SENDS * n) / (RESTARTS + 1)));
    })();
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let n = client; n < SENDS; n += CLIENTS) {
          acknowledged.add(await send(program, n));
          stir();
        }
      }),
    );
    await restarts;
    await until(() => [...acknowledged].every((id) => arrivals.has(id)));
    await program.stop();
    expect(acknowledged.size).toBe(SENDS);
    expect([...arrivals].filter(([, times]) => times > 1)).toEqual([]);
    // A stop lets what is in hand end, so that unlike after kill -9 nothing is in doubt.
    expect(unknown).toEqual([]);
  },
);

/** Asks again under the same key until it has an answer. */
async function send(program: Program, n: number): Promise<string> {
  const body = { from: program.from, to: [`r${n}@d${n % 5}.example`], subject: `Number ${n}`, text: 'Hello.' };
  for (;;) {
    const url = await program.listening();
    const headers = {
      authorization: `Bearer ${program.apiKey}`,
      'user-agent': 'rasket-tests/1',
      'content-type': 'application/json',
      'idempotency-key': `restart-${n}`,
    };
    const answer = await fetch(`${url}/emails`, { method: 'POST', headers, body: JSON.stringify(body) })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => undefined);
    if (answer?.status === 200) return (JSON.parse(answer.text) as { id: string }).id;
    // Between two programs nobody answers; one that is stopping says 503, and a request whose key is in use gets a 409.
    if (answer && ![409, 503].includes(answer.status)) throw new Error(`${answer.status} ${answer.text}`);
    await new Promise((next) => setImmediate(next));
  }
}
