import { expect, it } from 'vitest';
import { faultOfPeer } from './guarded-connector.ts';

const mayReach = (address: string): boolean => address === '192.0.2.1';

it.each([
  ['192.0.2.1', undefined],
  ['10.0.0.1', { kind: 'blocked' }],
  // Node's address for a connection that was reset before anybody read it.
  [undefined, { kind: 'unreachable' }],
  ['', { kind: 'unreachable' }],
])('a connection to %s is reported as %o', (remoteAddress, fault) => {
  expect(faultOfPeer({ remoteAddress }, mayReach)).toEqual(fault);
});
