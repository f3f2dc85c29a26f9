import { checkFrame } from './golden.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sections } from '../../console/catalog.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { normalise } from './normalise.ts';
import { Screen } from './screen.ts';

const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
  { columns: 200, rows: 50 },
];

/** Sides of an item, and what shows that one is there. */
const DETAILS = [
  { name: 'email-timeline', keys: ['2', 'Enter'], sees: ['› Your invoice', 'The first delivery started'] },
  { name: 'email-text', keys: ['2', 'Enter', 'l', 'l'], sees: ['› Your invoice', 'See you.'] },
  { name: 'email-attempts', keys: ['2', 'Enter', 'h', 'h'], sees: ['› Your invoice', 'TRIED', 'mx.sink.test'] },
  { name: 'domain-records', keys: ['3', 'Enter', 'l'], sees: ['› news.example.com', 'PRIORITY', 'v=DKIM1'] },
  { name: 'received-text', keys: ['7', 'Enter'], sees: ['› A question', 'Does it work?'] },
  { name: 'webhook-events', keys: ['6', 'Enter'], sees: ['hooks.example.com', '✗ failed', '✓ success'] },
];

describe('the screens of the console', () => {
  let scene: Scene;
  let seat: Screen;
  beforeAll(async () => {
    // Charts, sums of the day and the year of a date would differ where a midnight or a new year falls into the run.
    scene = await startScene({ startAt: '2026-06-17T10:00:00Z' });
    const team = await makeBelievableTeam(scene);
    vi.useFakeTimers({ toFake: ['Date'], now: scene.clock.now() });
    seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
    vi.useRealTimers();
  });

  const keep = (name: string, size: (typeof SIZES)[number], frame: string): Promise<void> =>
    checkFrame(name, size, frame, normalise(frame));

  it('show the line of tabs at each width, with the first, a middle and the last tab selected', async () => {
    const lines: string[] = [];
    const names = [sections[0], sections[20], sections.at(-1)].map((section) => section?.name ?? '');
    for (const { columns, rows } of SIZES) {
      await seat.resize(columns, rows);
      for (const name of names) {
        await seat.type(`:${name}`);
        await seat.sees(`:${name}`);
        await seat.press('Enter');
        const [, tabs = ''] = (await seat.sees(new RegExp(`\\[(?:\\d )?${name}\\]`))).split('\n');
        lines.push(tabs.trimEnd());
      }
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('frames/tabs.txt');
  });

  for (const size of SIZES) {
    const { columns, rows } = size;
    it.each(sections.map(({ name }) => name))(`show %s at ${columns}×${rows}`, async (name) => {
      await seat.resize(columns, rows);
      await seat.type(`:${name}`);
      await seat.sees(`:${name}`);
      await seat.press('Enter');
      const isThere =
        name === 'overview'
          ? /Webhooks 1 of 1[^]*received mail/
          : new RegExp(`^ ${name}(?: +(?:0|\\d+/\\d+\\+?|lines .* of \\d+))?$`, 'm');
      if (name === 'overview' && rows > 24) await seat.sees('28 days', /Recent failures[^]*✗ bounced/);
      if (name === 'segments') await seat.sees(/^› Customers .* 0 +0 +0 /m);
      await seat.sees(isThere, /^ \? (?:more|keys) {2,3}: go to/m);
      await keep(name, size, await settled(seat));
    });

    it.each(DETAILS)(`show $name at ${columns}×${rows}`, async ({ name, keys, sees }) => {
      await seat.resize(columns, rows);
      const [digit = '', ...others] = keys;
      await seat.type(':overview');
      await seat.press('Enter');
      await seat.sees(/^ overview/m, 'Mail of the last');
      await seat.press(digit);
      await seat.sees(/^› /m);
      for (const key of others) {
        await seat.press(key);
        await seat.sees(/^ \w+ › \S/m, /^(?![^]*loading)/i);
      }
      await seat.sees(...sees);
      await keep(name, size, await settled(seat));
    });
  }
});

/** Returns the frame when nothing more comes: two frames in a row are equal. */
async function settled(seat: Screen): Promise<string> {
  let before = await seat.frame();
  for (;;) {
    const now = await seat.frame();
    if (now === before && !/loading/i.test(now)) return now;
    before = now;
  }
}
