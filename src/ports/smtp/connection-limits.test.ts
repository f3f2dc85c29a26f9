import { expect, it } from 'vitest';
import {
  createConnectionLimits,
  type ConnectionLimits,
  type PortKind,
  type Slot,
  type ConnectionPhase,
} from './connection-limits.ts';

interface Client {
  standing: ConnectionPhase;
  slot: Slot;
  /** The words with which it was ended. */
  ended: string[];
}

function enter(limits: ConnectionLimits, address: string | undefined, kind: PortKind = 'world'): Client {
  const client = { standing: 'idle' as ConnectionPhase, ended: [] as string[] };
  const slot = limits.enter(
    {
      get standing() {
        return client.standing;
      },
      makeWay: ({ message }) => void client.ended.push(message),
    },
    { address, kind },
  );
  return Object.assign(client, { slot });
}

it('untrusted senders who hold all their connections leave some to clients that log in, and the other way round', () => {
  for (const [greedy, other] of [
    ['world', 'submission'],
    ['submission', 'world'],
  ] as const) {
    const limits = createConnectionLimits({ total: 8, perAddress: 2 });
    for (let i = 0; i < 6; i++) enter(limits, `192.0.2.${i}`, greedy);
    expect(() => enter(limits, '192.0.2.0', greedy)).toThrow('Too many connections');
    const [first] = [0, 1].map((i) => enter(limits, `198.51.100.${i}`, other));
    expect(() => enter(limits, '198.51.100.1', other)).toThrow('Too many connections');
    first?.slot.leave();
    enter(limits, '198.51.100.1', other);
  }
});

it('each address, and each IPv6 customer network, has its own limit', () => {
  const limits = createConnectionLimits({ total: 8, perAddress: 2 });
  const [first] = ['2001:db8::1', '2001:db8::2'].map((address) => enter(limits, address));
  expect(() => enter(limits, '2001:db8::3')).toThrow('from your address');
  first?.slot.leave();
  enter(limits, '2001:db8::3');
});

it('the oldest idle connection of the address with the most connections is closed, and its slot is released once', () => {
  const limits = createConnectionLimits({ total: 8, perAddress: 4 });
  const [a1, a2, a3] = [1, 2, 3].map(() => enter(limits, '192.0.2.1'));
  const [b1, b2] = [1, 2].map(() => enter(limits, '192.0.2.2'));
  enter(limits, '192.0.2.3');
  enter(limits, '192.0.2.4');
  expect([a1, a2, a3, b1, b2].map((client) => client?.ended.length)).toEqual([1, 0, 0, 0, 0]);
  a1?.slot.leave();
  enter(limits, '192.0.2.5');
  expect(a2?.ended).toEqual([
    '4.3.2 Many clients are waiting for a connection, and your address has the most open; connect again in a minute',
  ]);
  // Each address holds at most two by now.
  enter(limits, '192.0.2.3');
  expect(b1?.ended).toHaveLength(1);
  expect(() => enter(limits, '192.0.2.3')).toThrow('Too many connections');
});

it('finished connections are closed first and those with content last, and connections that are busy, logged in or our own are kept', () => {
  const limits = createConnectionLimits({ total: 11, perAddress: 8 });
  const standings: ConnectionPhase[] = ['busy', 'sending', 'brought', 'idle', 'over', 'logged in'];
  const clients = standings.map((standing) => Object.assign(enter(limits, '192.0.2.1'), { standing }));
  for (let n = 0; n < 3; n++) enter(limits, undefined);
  const newcomers: Client[] = [];
  const ends: string[] = [];
  for (let n = 0; n < 4; n++) {
    newcomers.push(Object.assign(enter(limits, `192.0.2.${n + 2}`), { standing: 'logged in' as const }));
    ends.push(
      ...clients
        .filter(({ ended, standing }) => ended.length > 0 && !ends.includes(standing))
        .map(({ standing }) => standing),
    );
  }
  expect(ends).toEqual(['over', 'idle', 'brought', 'sending']);
  expect(() => enter(limits, '192.0.2.9')).toThrow('Too many connections');
  expect(newcomers.flatMap(({ ended }) => ended)).toEqual([]);
});

it('logged-in connections do not count against new connections of their address', () => {
  const limits = createConnectionLimits({ total: 8, perAddress: 6 });
  for (let n = 0; n < 4; n++) enter(limits, '192.0.2.1', 'submission').standing = 'logged in';
  const strangers = [1, 2].map(() => enter(limits, '192.0.2.2', 'submission'));
  enter(limits, '192.0.2.1', 'submission');
  expect(strangers.map(({ ended }) => ended.length)).toEqual([1, 0]);
});
