import { checkFrame } from './golden.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { receiveMail } from '../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { normalise } from './normalise.ts';
import { Screen } from './screen.ts';

const SIZES = [
  { columns: 60, rows: 24 },
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
  { columns: 200, rows: 50 },
];

const LONG = 'customer-success-and-renewals@operations.northern-region.example.org';
const MIDDLE = 'maria.fernandez-lopez@mail.example.org';

describe('tables of the console with long names', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team('Example');
    await team.domain('mail.example.com');
    await make('/domains', { name: 'transactional.notifications.european-customers.example.com' });
    for (const email of ['ada@example.org', MIDDLE, LONG]) {
      const mail = { from: 'hello@mail.example.com', to: email, subject: 'Your receipt of November', text: 'Hi' };
      await make('/emails', mail);
      await scene.settled();
      await make('/contacts', { email, first_name: 'Maria', last_name: 'Fernández López' });
      await make('/suppressions', { email });
    }
    await receiveMail(scene, team);
    seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  async function make(url: string, body: object): Promise<void> {
    const { status } = await scene.api('POST', url, { key: team.key, body });
    expect(status).toBeLessThan(300);
    scene.clock.advance(1000);
  }

  /** Expects a wide terminal, where a row is one line, to have its whole names next to the list while it is selected. */
  async function seesBeside(names: readonly string[]): Promise<void> {
    await seat.press('g');
    for (const [at, name] of names.entries()) {
      if (at > 0) await seat.press('j');
      const beside = async (): Promise<string> =>
        (await seat.frame())
          .split('\n')
          .map((line) => line.replace(/^.*│/, '').replaceAll(' ', ''))
          .join('');
      await expect.poll(beside).toContain(name.replaceAll(' ', ''));
    }
    await seat.press('g');
  }

  for (const { columns, rows } of SIZES)
    it.each([
      ['emails', [LONG, MIDDLE, 'ada@example.org']],
      ['contacts', [LONG, MIDDLE]],
      ['suppressions', [LONG, MIDDLE]],
      ['received', ['Someone <someone@', 'Support <support@']],
      ['domains', ['transactional.notifications.european-customers.example.com']],
    ] as const)(`show %s at ${columns}×${rows} without truncated names`, async (name, whole) => {
      await seat.resize(columns, rows);
      await seat.type(`:${name}`);
      await seat.sees(`:${name}`);
      await seat.press('Enter');
      const frame = await seat.sees(new RegExp(`^ ${name} +\\d+/\\d+$`, 'm'), /^ \? (?:more|keys) /m);
      // Text that is longer than the list is wide continues on the next line.
      const joined = frame.replaceAll(/\n {4}(?=\S)/g, '');
      if (columns < 120 || name === 'received') for (const one of whole) expect(frame + joined).toContain(one);
      else await seesBeside(whole);
      const loaded = columns < 120 ? frame : await seat.sees(/^(?![^]*Loading …)[^]*│/);
      await checkFrame(`names/${name}`, { columns, rows }, loaded, normalise(loaded));
    });

  it('treat a row of two lines like any other, and show it whole', async () => {
    await seat.resize(60, 12);
    await seat.type(':contacts');
    await seat.press('Enter');
    await seat.sees(/^ contacts +\d+\/3$/m);
    await seat.press('g');
    await seat.sees(/^› [^]*^ {4}customer-success/m);
    await seat.press('G');
    const frame = await seat.sees(/^› [^]*^ {4}ada@example\.org/m);
    expect(frame).not.toContain('customer-success');
    await seat.press('k');
    await seat.sees(/^› [^]*^ {4}maria\.fernandez/m);
  });
});
