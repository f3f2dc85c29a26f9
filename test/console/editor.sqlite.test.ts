import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writingInbox } from '../rig/inbox.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { describeAtTerminal, Seat } from './seat.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  const inbox = await writingInbox(scene, team, { name: 'Customer support' });
  await inbox.arrive({ subject: 'Where is it?', text: 'I wait.' });
});
afterAll(() => scene?.close());

/** Opens the composer of the only thread, with an editor that runs this script; `{}` is the folder of the seat. */
async function compose(script: string): Promise<Seat> {
  const seat = await Seat.take({
    url: scene.url,
    key: team.key,
    columns: 100,
    rows: 30,
    env: { EDITOR: 'sh "$HOME/editor"' },
  });
  writeFileSync(path.join(seat.folder, 'editor'), script.replaceAll('{}', seat.folder));
  await seat.sees('received mail');
  await seat.type(':inbox');
  await seat.sees(':inbox');
  await seat.press('Enter');
  await seat.sees('Customer support');
  await seat.press('Enter');
  await seat.sees('I wait.');
  await seat.press('r');
  await seat.sees('To: Ada Lovelace');
  await seat.type('Begun.');
  await seat.sees('Begun.');
  await seat.press('C-x');
  return seat;
}

describeAtTerminal('the editor of the console', () => {
  it('has the whole terminal with its own modes and every key, and gives the screen and its modes back', async () => {
    await using seat = await compose(
      [
        'stty -a | grep -o -- "-*icanon" > {}/modes',
        'echo what do you say',
        'read one; read two',
        'printf "%s\\n%s\\n" "$one" "$two" > {}/typed',
        'printf "%s and %s\\n" "$one" "$two" > "$1"',
      ].join('\n'),
    );
    await seat.sees('what was there before', 'what do you say');
    expect(await seat.modes()).toEqual({ alternate: false, cursor: true, wraps: true });
    await seat.type('every single key');
    await seat.press('Enter');
    await seat.type('arrives');
    await seat.sees('arrives');
    await seat.press('Enter');
    await seat.sees('every single key and arrives▏', 'ctrl-s send');
    expect(readFileSync(path.join(seat.folder, 'typed'), 'utf8')).toBe('every single key\narrives\n');
    expect(readFileSync(path.join(seat.folder, 'modes'), 'utf8')).toBe('icanon\n');
    expect(await seat.modes()).toMatchObject({ alternate: true, wraps: false });
    await seat.type('!');
    await seat.sees('arrives!▏');
    await seat.press('Escape');
    await seat.sees('Press r to continue the text');
    await seat.press('C-c');
    await seat.isGivenBack(0);
  });

  it('that is interrupted leaves the console, its screen and the text as they were', async () => {
    await using seat = await compose('echo interrupt me\nread line');
    await seat.sees('interrupt me');
    await seat.press('C-c');
    await seat.sees(/The editor exited with (SIGINT|status 130); the text is as it was before\./, 'Begun.▏');
    expect(await seat.modes()).toMatchObject({ alternate: true, wraps: false });
    await seat.press('C-c');
    await seat.isGivenBack(0);
  });
});
