// an examination asks blocklists about each source --> GET /operator/reputation says what was last found
import { expect, it } from 'vitest';
import { DAY_MS, startMachine } from '../findings/examined.ts';

type State = { source: string; blocklists: { state: string } };

it('each source has the state of its addresses on blocklists, as the last examination found it', async () => {
  await using machine = await startMachine({
    sources: {
      second: { source_v4: '127.7.7.8', helo_name: 'second.rasket.test' },
      third: { source_v4: '127.7.7.9', helo_name: 'third.rasket.test' },
      far: { relay: 'hub' },
    },
    relays: { hub: { host: 'hub.test' } },
    pools: { main: { sources: ['second', 'third', 'far'], streams: ['marketing'] } },
  });
  const { scene, token } = machine;
  const load = async () => (await scene.api('GET', '/operator/reputation', { key: token })).body.sources;
  const states = async () =>
    Object.fromEntries(((await load()) as State[]).map(({ source, blocklists }) => [source, blocklists.state]));
  expect(await load()).toEqual(
    ['far', 'second', 'third'].map((source) => ({
      source,
      addresses: { far: [], second: ['127.7.7.8'], third: ['127.7.7.9'] }[source],
      blocklists: { state: 'not_checked', listed: [], checked_at: null },
    })),
  );

  scene.dns.set('9.7.7.127.list.test', 'A', ['127.0.0.4']);
  await machine.examine();
  const at = new Date(scene.clock.now()).toISOString();
  expect(await load()).toEqual([
    { source: 'far', addresses: [], blocklists: { state: 'not_checked', listed: [], checked_at: at } },
    { source: 'second', addresses: ['127.7.7.8'], blocklists: { state: 'not_listed', listed: [], checked_at: at } },
    {
      source: 'third',
      addresses: ['127.7.7.9'],
      blocklists: { state: 'listed', listed: [{ address: '127.7.7.9', zone: 'list.test' }], checked_at: at },
    },
    {
      source: null,
      addresses: ['127.7.7.7', '::1'],
      blocklists: { state: 'not_listed', listed: [], checked_at: at },
    },
  ]);

  // A list that does not answer proves nothing: an entry stays, and an address without one is not checked.
  scene.dns.set('8.7.7.127.list.test', 'A', 'SERVFAIL');
  scene.dns.set('9.7.7.127.list.test', 'A', 'SERVFAIL');
  await machine.examine();
  expect(await states()).toMatchObject({ second: 'not_checked', third: 'listed' });

  scene.clock.advance(4 * DAY_MS);
  expect(await states()).toMatchObject({ second: 'not_checked', third: 'not_checked' });
});
