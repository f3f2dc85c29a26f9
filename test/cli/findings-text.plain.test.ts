// Findings for a person: paragraphs that are wrapped between words; a program gets the table.
import { describe, expect, it } from 'vitest';
import { speak } from './spoken.ts';

const finding = {
  code: 'webhook_failing',
  severity: 'error',
  summary:
    'All attempts to deliver to the webhook https://hooks.example.com/a-path-that-is-long fail, for more than a day, and it will be disabled soon.',
  count: 2,
  subjects: ['wh_1', 'wh_2'],
  since: '2026-11-20T07:12:40.000Z',
  node: null,
  advice: { words: 'See how its server responds', command: 'rasket webhooks get wh_019a9c1e7d527c3a9a540b8f4c1f2e03' },
};
const plainer = {
  ...finding,
  code: 'sending_off',
  severity: 'warning',
  summary: 'Sending is switched off.',
  count: 1,
  since: null,
  advice: { words: 'Switch it on.', command: null },
};
const answer = () => ({
  status: 200,
  body: { object: 'findings', as_of: '2026-11-20T09:30:02.000Z', findings: [finding, plainer] },
});

describe('rasket findings', () => {
  it.each([60, 80, 200])('shows paragraphs of whole words at a terminal of %i columns', async (columns) => {
    const { stdout, url, code } = await speak(['findings'], answer, { columns });
    expect(code).toBe(0);
    const [first = '', second = ''] = stdout.replaceAll('\r', '').trimEnd().split('\n\n');
    const lines = first.split('\n').map((line) => line.replaceAll(/\u001B\[\d+m/g, ''));
    expect(lines[0]).toBe('error  webhook_failing');
    expect(lines.at(-1)).toMatch(/^ {2}since 2026-11-20 \d\d:\d\d\S*, 2 affected$/);
    expect(lines.at(-2)).toBe(`  rasket webhooks get --url ${url} wh_019a9c1e7d527c3a9a540b8f4c1f2e03`);
    const sentences = lines.slice(1, -2);
    expect(Math.max(...sentences.map((line) => line.length))).toBeLessThanOrEqual(Math.min(columns, 80));
    const words = `${finding.summary} ${finding.advice.words}`.split(' ');
    expect(sentences.join(' ').trim().split(/\s+/)).toEqual(words);
    expect(second.replaceAll(/\u001B\[\d+m/g, '')).toBe(
      'warning  sending_off\n  Sending is switched off.\n  Switch it on.',
    );
  });

  it('prints the same table into a pipe as before', async () => {
    const { stdout, url } = await speak(['findings'], answer);
    expect(stdout.replaceAll(url, 'URL').split('\n').slice(0, 2)).toEqual([
      'SEVERITY\tFINDING\tSINCE\tHOW MANY\tWHAT IS WRONG\tWHAT TO DO\tWITH',
      `error\twebhook_failing\t${finding.since}\t2\t${finding.summary}\t${finding.advice.words}\trasket webhooks get --url URL wh_019a9c1e7d527c3a9a540b8f4c1f2e03`,
    ]);
  });
});
