import { expect, it } from 'vitest';
import { createManualClock } from '../rig/clock.ts';
import { ConnectionSlots } from '../../src/mail/deliver/connection-slots.ts';
import { IdleSessions, type Peer } from '../../src/mail/deliver/idle-sessions.ts';
import { MxAddress } from '../../src/mail/deliver/mx-address.ts';
import type { OpeningRequest } from '../../src/mail/deliver/opening-requests.ts';

const clock = createManualClock(1_000_000);

const createSlots = (count: number): ConnectionSlots => new ConnectionSlots(count, new IdleSessions(clock, 15_000));

function peerAt(key: string): Peer {
  const address = new MxAddress({ connectionsMax: 40, now: () => clock.now(), random: () => 0.5 });
  return { address, key };
}

/** Asks for a connection to a peer, and counts how often anybody looks at it. */
function ask(slots: ConnectionSlots, tenant: string, peer: Peer) {
  const seen = { looks: 0, answer: undefined as unknown };
  const request: OpeningRequest = {
    tenant,
    get peer() {
      seen.looks += 1;
      return peer;
    },
    isReady: () => true,
    answer: (answer) => void (seen.answer = answer),
    mayAdopt: () => false,
    adopt: () => {},
  };
  slots.request(request);
  return seen;
}

it('a thousand messages waiting for a full address are not checked while others come and go', () => {
  const slots = createSlots(200);
  const silent = peerAt('silent');
  const waiting = Array.from({ length: 1000 }, () => ask(slots, 'crowd', silent));
  expect(waiting.filter(({ answer }) => answer === 'open')).toHaveLength(2);
  for (const each of waiting) each.looks = 0;
  for (let n = 0; n < 100; n++) {
    const other = peerAt(`other ${n}`);
    expect(ask(slots, 'other', other).answer).toBe('open');
    slots.opened({ tenant: 'other', address: other.address });
    slots.leaves(other.address);
    slots.left(other.address);
  }
  const looks = waiting.reduce((sum, each) => sum + each.looks, 0);
  expect(looks).toBeLessThan(10);
});

it('messages waiting for an address are deferred when it has failed, and so are new ones while it is avoided', () => {
  const slots = createSlots(200);
  const silent = peerAt('silent');
  const waiting = Array.from({ length: 10 }, () => ask(slots, 'crowd', silent));
  const why = { kind: 'deferred', reason: 'destination_down', detail: 'nobody answers' } as const;
  slots.failed({ tenant: 'crowd', address: silent.address }, why);
  expect(waiting.slice(2).map(({ answer }) => answer)).toEqual(Array.from({ length: 8 }, () => why));
  expect(ask(slots, 'other', silent).answer).toBe(why);
});
