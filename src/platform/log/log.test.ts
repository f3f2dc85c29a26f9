import { describe, expect, it } from 'vitest';
import { createTracer } from '../trace/index.ts';
import { createMeter } from '../meter/index.ts';
import { createLog, createMailLog } from './index.ts';

function logTo(format: 'json' | 'pretty', level = 'info') {
  const lines: string[] = [];
  return { log: createLog({ level, format, write: (line) => void lines.push(line) }), lines };
}

describe('a log line', () => {
  it('is one JSON object with a time, a level and a phrase', () => {
    const { log, lines } = logTo('json');
    log.info({ emailId: 'e1', text: 'two\nlines' }, 'email accepted');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\n]*\n$/);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      emailId: 'e1',
      text: 'two\nlines',
      msg: 'email accepted',
    });
  });

  it('is a single line in the format for people too', () => {
    const { log, lines } = logTo('pretty');
    log.warn({ n: 1, text: 'x' }, 'careful');
    expect(lines).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d warn careful n=1 text=x\n$/)]);
  });

  it('is not written below the configured level', () => {
    const { log, lines } = logTo('json', 'warn');
    log.info('no');
    log.warn('yes');
    expect(lines).toHaveLength(1);
  });

  it('never contains a credential, in any field', () => {
    const { log, lines } = logTo('json');
    log.info({ token: 'rk_s3cret', password: 's3cret', authorization: 'Bearer s3cret' }, 'top');
    log.info({ headers: { authorization: 'Bearer s3cret' }, key: { token: 's3cret', private_key: 's3cret' } }, 'below');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain('s3cret');
  });

  it('contains no stack for a failing disk, network or server', () => {
    const { log, lines } = logTo('json');
    for (const code of ['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'ENOSPC', 'ECONNREFUSED', '57P01'])
      log.error({ err: Object.assign(new Error('cannot'), { code }) }, 'cron job failed');
    expect(lines).toHaveLength(5);
    expect(lines.join('')).not.toContain('stack');
    log.error({ err: Object.assign(new Error('a defect'), { code: 'ERR_INVALID_ARG_TYPE' }) }, 'failed');
    expect(lines.at(-1)).toContain('"stack"');
  });

  it('contains the message of an error and its place, and not the row that the database adds', () => {
    const { log, lines } = logTo('json');
    const cause = Object.assign(new Error('null value in column'), { code: '23502', detail: 'Failing row: s3cret' });
    log.error({ err: new Error('request failed', { cause }) }, 'failed');
    expect(JSON.parse(lines.join(''))).toMatchObject({
      err: { message: 'request failed', cause: { code: '23502', message: 'null value in column' } },
    });
    expect(lines.join('')).not.toContain('s3cret');
  });
});

it('every line about mail has a phrase of its own', () => {
  const { log, lines } = logTo('json');
  const tracer = createTracer({ percent: 0, now: () => 0, drop: () => undefined });
  const mail = createMailLog(log, createMeter({ domains: 0, now: () => 0, fault: () => undefined }), tracer);
  const common = { emailId: 'e', to: ['a@example.org'], detail: 'd', reason: 'r' };
  mail.accepted({ emailId: 'e', teamId: 't', recipients: 1, requestId: 'r' });
  mail.delivered({ ...common, mx: 'mx', reply: '250 ok', tls: null });
  mail.deferred({ ...common, nextAttemptAt: 'later' });
  mail.bounced(common);
  mail.gaveUp({ ...common, attempts: 3 });
  mail.suppressed(common);
  mail.ambiguous(common);
  mail.expanded({ emailId: 'e', to: ['a@example.org'] });
  mail.failed(common);
  mail.notForwarded({ teamId: 't', address: 'a@example.org', because: 'b' });
  mail.loginRefused({ address: '192.0.2.1', reason: 'r' });
  mail.submissionRefused({ address: '192.0.2.1', teamId: 't', reason: 'r' });
  const phrases = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(phrases).toHaveLength(Object.keys(mail).length);
  expect(new Set(phrases).size).toBe(phrases.length);
});

it('each line for the journal starts with its priority, as JSON and for people', () => {
  for (const format of ['json', 'pretty'] as const) {
    const lines: string[] = [];
    const log = createLog({ level: 'info', format, isForJournal: true, write: (line) => void lines.push(line) });
    log.info('well');
    log.warn('careful');
    log.error('bad');
    expect(lines.map((line) => line.slice(0, 3))).toEqual(['<6>', '<4>', '<3>']);
    expect(lines.map((line) => line[3])).toEqual(
      format === 'json' ? ['{', '{', '{'] : expect.arrayContaining([expect.stringMatching(/\d/)]),
    );
  }
});
