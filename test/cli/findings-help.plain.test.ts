// rasket help FINDING
import { afterAll, describe, expect, it } from 'vitest';
import { Desk } from './desk.ts';

const desk = new Desk();
afterAll(() => desk.clear());

describe('rasket help', () => {
  it('explains a finding: its cause, what to do, and when it ends', async () => {
    const { code, stdout } = await desk.rasket(['help', 'resolver_failing']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^resolver_failing \(error\)\n\nThe resolver does not answer.*\n\nCause: .*\n\nWhat to do: [^:]*:\n\n {2}rasket config show\n\nIt ends with the next examination/s,
    );
  });

  it('suggests the finding that was meant, and still explains commands', async () => {
    expect(await desk.rasket(['help', 'resolver_fails'])).toMatchObject({
      code: 64,
      stderr: 'rasket: there is no finding "resolver_fails". Did you mean resolver_failing?\n',
    });
    // Most letters differ, but not the words.
    for (const [typed, meant] of [
      ['cert_expired', 'certificate_expired'],
      ['disk_is_full', 'disk_low'],
    ] as const)
      expect((await desk.rasket(['help', typed])).stderr).toContain(`Did you mean ${meant}?`);
    expect((await desk.rasket(['help', 'bogus_finding'])).stderr).toContain('docs/findings.md lists all of them.');
    expect((await desk.rasket(['help', 'domains'])).stdout).toContain('rasket domains');
  });
});
