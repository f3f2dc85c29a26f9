import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { Screen } from './screen.ts';

describe('text that no keyboard can type', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team('Example');
    await scene.api('POST', '/segments', { key: team.key, body: { name: 'Customers' } });
    await scene.api('POST', '/topics', { key: team.key, body: { name: 'News', default_subscription: 'opt_in' } });
    seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees('received mail');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  it('does not keep an object with such a name from being deleted', async () => {
    // A new name with such characters is refused; an older version has stored this one.
    const { id } = (await scene.api('POST', '/segments', { key: team.key, body: { name: 'ab' } })).body;
    await scene.app.world.db.run('update segments set name = ? where id = ?', ['a\u202Eb\u0007', id]);
    await seat.type(':segments');
    await seat.press('Enter');
    await seat.sees(/^› a\uFFFDb\uFFFD/m);
    await seat.press('d');
    await seat.sees('Type a\uFFFDb\uFFFD (? for \uFFFD) to do it on');
    await seat.type('a?b');
    await seat.press('Enter');
    await seat.sees('The name does not match; nothing was changed.');
    await seat.type('?');
    await seat.press('Enter');
    await seat.sees('Deleted');
    expect((await scene.api('GET', '/segments', { key: team.key })).body.data).toMatchObject([{ name: 'Customers' }]);
  });

  it('does not control the terminal when it is pasted into a filter', async () => {
    await seat.type(':topics');
    await seat.press('Enter');
    await seat.sees('News');
    await seat.press('/');
    await seat.paste('a\u202Eb\u001B[31m\u001B[2Jc');
    await seat.sees(/^ \/a\uFFFDb/m);
    await seat.press('Enter');
    const frame = await seat.sees('/a\uFFFDb\uFFFD[31m\uFFFD[2Jc · 0', 'Nothing matches');
    expect(frame).not.toMatch(/[\u202A-\u202E]/);
    await seat.press('Escape');
    await seat.sees('News');
  });
});
