import { afterEach, expect, it } from 'vitest';
import { createTextThread, defineTextTask, type TextThread, type TextThreadOptions } from './index.ts';

/** Module of a thread that does what the name of each task says. */
const MODULE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from 'node:worker_threads';
    parentPort.on('message', ({ id, name, input }) => {
      if (name === 'test.hang') for (;;);
      if (name === 'test.refuse') return parentPort.postMessage({ id, refused: { name: 'validation_error', text: { say: 'No.', status: 422 } } });
      if (name === 'test.fail') return parentPort.postMessage({ id, fault: new Error('it broke') });
      parentPort.postMessage({ id, output: [threadId, input] });
    });
  `)}`,
);

const echo = defineTextTask('test.echo', (input: string): unknown => ['inline', input]);
const hang = defineTextTask('test.hang', (): unknown => undefined);
const LARGE = 100_000;

let thread: TextThread;
const open = (options: TextThreadOptions = {}) => (thread = createTextThread({ module: MODULE, ...options }));
afterEach(() => thread.close());

const run = (input: string, { teamId = 'a', chars = LARGE, task = echo, isPatient = false } = {}) =>
  thread.run({ teamId, chars, task, isPatient }, input);

it('a small text is processed in the caller’s turn, and a large one in the thread', async () => {
  open();
  expect(await run('x', { chars: 32 * 1024 })).toEqual(['inline', 'x']);
  expect(thread.handedOver).toBe(0);
  expect(await run('y')).toEqual([expect.any(Number), 'y']);
  expect(thread.handedOver).toBe(1);
});

it('a team waits for one text of another team, not for all of them', async () => {
  open();
  const order: string[] = [];
  const many = Array.from({ length: 10 }, (_, n) => run(`a${n}`).then(() => order.push('a')));
  await run('b', { teamId: 'b' }).then(() => order.push('b'));
  await Promise.all(many);
  expect(order.indexOf('b')).toBeLessThanOrEqual(2);
});

it('a team with twenty waiting texts is refused, while other teams are served and texts of deliveries wait', async () => {
  open();
  const waiting = Array.from({ length: 21 }, (_, n) => run(String(n)));
  await expect(run('one more')).rejects.toMatchObject({ errorName: 'service_unavailable', retryAfterSeconds: 5 });
  const others = [run('b', { teamId: 'b' }), run('mail', { isPatient: true })];
  expect(await Promise.all([...waiting, ...others])).toHaveLength(23);
});

it('a text that takes too long is refused and its thread is stopped, and the next text gets a new thread', async () => {
  open({ limitMs: 2000 });
  const [first] = (await run('x')) as [number];
  const stuck = run('', { task: hang as never });
  const next = run('y');
  await expect(stuck).rejects.toMatchObject({ errorName: 'service_unavailable' });
  const [second] = (await next) as [number];
  expect(second).not.toBe(first);
});

it('the caller of a task gets a refusal as a refusal, and any other failure as an error', async () => {
  open();
  const refuses = defineTextTask('test.refuse', (_: string): unknown => undefined);
  const fails = defineTextTask('test.fail', (_: string): unknown => undefined);
  await expect(run('', { task: refuses })).rejects.toMatchObject({ errorName: 'validation_error', status: 422 });
  await expect(run('', { task: fails })).rejects.toThrow('it broke');
  expect(await run('z')).toEqual([expect.any(Number), 'z']);
});

it('an idle thread is stopped, and the next text starts a new one', async () => {
  open({ idleMs: 1 });
  const [first] = (await run('x')) as [number];
  await expect.poll(async () => ((await run('y')) as [number])[0]).not.toBe(first);
});

it('texts that wait when the program ends are rejected', async () => {
  open();
  const waiting = [run('x'), run('y')];
  const settled = Promise.allSettled(waiting);
  await thread.close();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(run('z')).rejects.toThrow('the program ends');
});
