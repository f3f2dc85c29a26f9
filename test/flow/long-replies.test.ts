// a receiver that answers at length --> events, mail log, attempts and notices that stay small
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

/** Nearly as much as is read of one reply: 256 lines of 4 KB. */
const LINES = 250;

const makeReply = (code: number, status: string, word: string): string =>
  Array.from({ length: LINES }, (_, at) => {
    const isLast = at === LINES - 1;
    return `${code}${isLast ? ' ' : '-'}${status} ${at === 0 ? `${word} ` : ''}${'🦉'.repeat(900)}`;
  }).join('\r\n');

const REFUSED = makeReply(550, '5.1.1', 'No such user');
const LATER = makeReply(450, '4.2.1', 'Try again');
const TAKEN = makeReply(250, '2.0.0', 'Queued');
/** The word that decides stands behind the part that is kept. */
const HIDDEN = `550-${'Our postmaster is sorry. '.repeat(60)}\r\n550 The mailbox is full`;

/** Measures what is logged by default; the level debug has the dialogue as well. */
function measureLongestLine(scene: Scene): number {
  const shown = scene.log.filter((line) => (JSON.parse(line) as { level: string }).level !== 'debug');
  return Math.max(...shown.map((line) => Buffer.byteLength(line)));
}

describe('a receiver that replies to recipients with a megabyte', () => {
  let scene: Scene;
  beforeAll(async () => {
    const script = (command: string): string | undefined => {
      if (/^RCPT TO:<[^>]*@refused\.example>/.test(command)) return REFUSED;
      if (/^RCPT TO:<[^>]*@later\.example>/.test(command)) return LATER;
      if (/^RCPT TO:<[^>]*@hidden\.example>/.test(command)) return HIDDEN;
      return undefined;
    };
    scene = await startScene({ sink: { script } });
  });
  afterAll(() => scene.close());

  const send = async (count: number, domain: string) => {
    scene.log.length = 0;
    const mail = await mailIn(scene);
    const to = Array.from({ length: count }, (_, at) => `u${at}@${domain}`);
    const id = await mail.send(to);
    await scene.settled();
    return { mail, id, to, longestLine: measureLongestLine(scene) };
  };
  const measureSize = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

  it('gets a bounce that quotes the beginning of the reply in its event, the log and the attempt', async () => {
    const { mail, id, longestLine } = await send(1, 'refused.example');
    const data = await mail.detail(id, 'email.bounced');
    expect(data).toMatchObject({
      bounce: {
        type: 'Permanent',
        message: expect.stringContaining('550 5.1.1 No such user 🦉'),
        diagnosticCode: [expect.stringMatching(/^smtp; 550 5\.1\.1 No such user 🦉.*…$/u)],
      },
    });
    expect(JSON.stringify(data), 'half a character cannot be stored as JSON everywhere').not.toMatch(/\\ud[89a-f]/i);
    expect(measureSize(data)).toBeLessThan(6_000);
    expect(longestLine).toBeLessThan(6_000);
    const { text } = await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key });
    expect(text).toContain('No such user');
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    expect((await mail.account(id)).suppressed).toEqual(['u0@refused.example']);
  });

  it('gets an event and a log line of bounded size for a bounce of fifty recipients', async () => {
    const { mail, id, to, longestLine } = await send(50, 'refused.example');
    const data = await mail.detail(id, 'email.bounced');
    expect(data.to).toEqual(to);
    const { diagnosticCode } = data.bounce as { diagnosticCode: string[] };
    expect(diagnosticCode).toHaveLength(50);
    for (const code of diagnosticCode) expect(code).toMatch(/^smtp; 550 5\.1\.1 No such user 🦉/u);
    expect(measureSize(data)).toBeLessThan(50_000);
    expect(longestLine).toBeLessThan(20_000);
    expect((await mail.account(id)).suppressed).toHaveLength(50);
  });

  it('gets an event and a log line of bounded size for a delay of fifty recipients', async () => {
    const { mail, id, longestLine } = await send(50, 'later.example');
    const data = await mail.detail(id, 'email.delivery_delayed');
    const { delayedRecipients } = data.delay as { delayedRecipients: { diagnosticCode: string }[] };
    expect(delayedRecipients).toHaveLength(50);
    for (const { diagnosticCode } of delayedRecipients) expect(diagnosticCode).toMatch(/^smtp; 450 4\.2\.1 Try again/);
    expect(measureSize(data)).toBeLessThan(50_000);
    expect(longestLine).toBeLessThan(20_000);
  });

  it('is understood by words after the part of the reply that is stored', async () => {
    const { mail, id } = await send(1, 'hidden.example');
    expect(await mail.detail(id, 'email.bounced')).toMatchObject({
      bounce: { subType: 'MailboxFull', diagnosticCode: [expect.not.stringContaining('mailbox')] },
    });
    const { body } = await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key });
    expect(body.data).toMatchObject([{ recipients: [{ cause: 'mailbox_full' }] }]);
  });
});

describe('a receiver that replies to a message with a megabyte', () => {
  it('suppresses none of the several recipients it refuses', async () => {
    const scene = await startScene({ sink: { refuseContent: REFUSED } });
    onTestFinished(() => scene.close());
    const mail = await mailIn(scene);
    const id = await mail.send(['a@shared.example', 'b@shared.example']);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ state: 'bounced', suppressed: [] });
  });

  it('is quoted with the beginning of its reply in the log line about the delivery', async () => {
    const scene = await startScene({ sink: { refuseContent: TAKEN } });
    onTestFinished(() => scene.close());
    const mail = await mailIn(scene);
    const id = await mail.send('u@taken.example');
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivered');
    expect(scene.log.join('\n')).toContain('250 2.0.0 Queued');
    expect(measureLongestLine(scene)).toBeLessThan(6_000);
  });
});
